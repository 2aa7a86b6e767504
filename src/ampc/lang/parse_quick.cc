#include "ampc/lang/parse_quick.h"

#include <utility>

namespace ampc::lang::syntax {

namespace {

/// Walks the grammar's table, and fills the tree's nodes. False where the tokens do not follow it.
bool walk(ParseTree& tree, const OnStatement& on_statement) {
  using Kind = GrammarStep::Kind;
  struct Call {
    std::uint32_t node;
    std::int16_t next;
  };
  const std::vector<TreeToken>& tokens = tree.tokens;
  std::vector<TreeNode>& nodes = tree.nodes;
  if (!on_statement) nodes.reserve(tokens.size() * 3);
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
        if (static_cast<std::uint16_t>(tokens[at].type) != s.what) return false;
        take();
        step = s.next;
        break;
      case Kind::match_any:
        step = choice();
        if (step < 0) return false;
        take();
        break;
      case Kind::choose:
        step = choice();
        if (step < 0) return false;
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
        if (calls.empty()) return true;
        if (on_statement && calls.size() == 1 && node.rule == R::statement) {
          on_statement(Tree(tree, call.node));
          nodes.resize(call.node);
        }
        step = call.next;
        break;
      }
    }
  }
}

}  // namespace

std::optional<ParseTree> parse_quick(FileId file, std::string_view text, const OnStatement& on_statement) {
  ParseTree tree{file, text, {}, {}};
  auto tokens = scan(text);
  if (!tokens) return std::nullopt;
  // Another version may have another grammar: told before all else.
  const auto letters = [&](const TreeToken& t) { return text.substr(t.begin, t.end - t.begin); };
  if (tokens->size() > 1 && (*tokens)[0].type == T::AMP && letters((*tokens)[1]) != kVersion) return std::nullopt;
  tree.tokens = std::move(*tokens);
  if (!walk(tree, on_statement)) return std::nullopt;
  return tree;
}

}  // namespace ampc::lang::syntax
