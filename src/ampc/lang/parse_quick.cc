#include "ampc/lang/parse_quick.h"

#include <utility>

namespace ampc::lang::syntax {

std::optional<std::vector<TreeNode>> walk(const std::vector<TreeToken>& tokens) {
  using Kind = GrammarStep::Kind;
  struct Call {
    std::uint32_t node;
    std::int16_t next;
  };
  std::vector<TreeNode> nodes;
  nodes.reserve(tokens.size() * 3);
  std::vector<Call> calls;
  std::uint32_t at = 0;  // the next token

  const auto open = [&](std::uint16_t rule, std::int16_t next) {
    calls.push_back({static_cast<std::uint32_t>(nodes.size()), next});
    nodes.push_back({static_cast<R>(rule), {}, false, false, at, at, 0});
    return kGrammarRules[rule];
  };
  const auto take = [&] {
    const auto node = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({{}, tokens[at].type, true, false, at, at, node + 1});
    if (at + 1 < tokens.size()) ++at;
  };

  for (std::int16_t step = open(static_cast<std::uint16_t>(R::file), -1);;) {
    const GrammarStep& s = kGrammarSteps[static_cast<std::size_t>(step)];
    const auto choice = [&] {
      return kGrammarChoices[static_cast<std::size_t>(s.what) * kTokenTypes +
                             static_cast<std::size_t>(tokens[at].type)];
    };
    switch (s.kind) {
      case Kind::match:
        if (static_cast<std::uint16_t>(tokens[at].type) != s.what) return std::nullopt;
        take();
        step = s.next;
        break;
      case Kind::match_any:
        step = choice();
        if (step < 0) return std::nullopt;
        take();
        break;
      case Kind::choose:
        step = choice();
        if (step < 0) return std::nullopt;
        break;
      case Kind::call:
        step = open(s.what, s.next);
        break;
      case Kind::leave: {
        const Call call = calls.back();
        calls.pop_back();
        TreeNode& node = nodes[call.node];
        node.end = static_cast<std::uint32_t>(nodes.size());
        node.last = nodes.back().last;  // its own where it holds nothing
        if (calls.empty()) return nodes;
        step = call.next;
        break;
      }
    }
  }
}

std::optional<ParseTree> parse_quick(FileId file, std::string_view text) {
  ParseTree tree{file, text, {}, {}};
  auto tokens = scan(text);
  if (!tokens) return std::nullopt;
  // Another version may have another grammar: told before all else.
  const auto letters = [&](const TreeToken& t) { return text.substr(t.begin, t.end - t.begin); };
  if (tokens->size() > 1 && (*tokens)[0].type == T::AMP && letters((*tokens)[1]) != kVersion) return std::nullopt;
  auto nodes = walk(*tokens);
  if (!nodes) return std::nullopt;
  tree.tokens = std::move(*tokens);
  tree.nodes = std::move(*nodes);
  return tree;
}

}  // namespace ampc::lang::syntax
