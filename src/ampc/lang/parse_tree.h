// What a parser makes of a rule file: its tokens, and a tree over them, both flat. Private to the front end's parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/diag/diagnostic.h"
#include "ampc/lang/grammar_table.h"

namespace ampc::lang::syntax {

/// The version of the language.
inline constexpr std::string_view kVersion = "1";

/// Brackets of one kind within each other: enough for any rule file, and far from where recursion would meet the end of
/// the stack.
inline constexpr int kDeepest = 64;

/// One token, by bytes of the text. T::END_OF_FILE stands behind the last.
struct TreeToken {
  T type = T::END_OF_FILE;
  std::uint32_t begin = 0, end = 0;
};

/// A rule's node, or a token's: a leaf. Nodes stand before their children, children in the order of the text.
struct TreeNode {
  R rule{};  // of a leaf: nothing
  T type{};  // of a leaf
  bool leaf = false;
  bool faulty = false;                // of a rule: holds a syntax error
  std::uint32_t first = 0, last = 0;  // tokens
  std::uint32_t end = 0;              // the node behind the last one in it
};

struct ParseTree {
  FileId file = kNoFile;
  std::string_view text;
  std::vector<TreeToken> tokens;
  std::vector<TreeNode> nodes;  // the first is the file's
};

/// A node of a tree, or none. Children are asked for by rule or token: t(R::word), t(T::STRING), t(T::NUMBER, 1).
class Tree {
 public:
  Tree() = default;
  Tree(const ParseTree& in, std::uint32_t index) : in_(&in), index_(index) {}

  explicit operator bool() const { return in_ != nullptr; }
  const TreeNode& node() const {
    static constexpr TreeNode kNone;
    return in_ == nullptr ? kNone : in_->nodes[index_];
  }

  /// The n-th of its children of this kind, from 0.
  Tree operator()(R rule, std::size_t n = 0) const {
    return child([=](const TreeNode& node) { return !node.leaf && node.rule == rule; }, n);
  }
  Tree operator()(T type, std::size_t n = 0) const {
    return child([=](const TreeNode& node) { return node.leaf && node.type == type; }, n);
  }
  std::vector<Tree> all(R rule) const {
    return children([=](const TreeNode& node) { return !node.leaf && node.rule == rule; });
  }
  std::vector<Tree> all(T type) const {
    return children([=](const TreeNode& node) { return node.leaf && node.type == type; });
  }
  bool has(T type) const { return static_cast<bool>((*this)(type)); }
  /// Of a body: whether something in it is no statement, or one that holds a syntax error.
  bool slipped() const {
    return static_cast<bool>(child(
        [](const TreeNode& node) { return node.leaf ? node.type != T::LBRACE && node.type != T::RBRACE : node.faulty; },
        0));
  }
  /// Its first child, of whatever kind.
  Tree inner() const {
    return child([](const TreeNode&) { return true; }, 0);
  }

  /// The letters of its first token; none where nothing was read.
  std::string str() const { return node().leaf || node().end > index_ + 1 ? head() : std::string(); }
  Span span() const { return to(*this); }
  /// From its begin to the end of another.
  Span to(Tree other) const {
    const std::uint32_t begin = token(node().first).begin;
    const TreeToken& last = token(other.node().last);
    return {file(), begin, last.type == T::END_OF_FILE || last.end < begin ? begin : last.end};
  }
  /// Its first token's letters and place.
  std::string head() const {
    const TreeToken& first = token(node().first);
    return in_ == nullptr ? std::string() : std::string(in_->text.substr(first.begin, first.end - first.begin));
  }
  Span head_span() const {
    const TreeToken& first = token(node().first);
    return {file(), first.begin, first.end};
  }

 private:
  FileId file() const { return in_ == nullptr ? kNoFile : in_->file; }
  const TreeToken& token(std::uint32_t index) const {
    static constexpr TreeToken kNone;
    return in_ == nullptr ? kNone : in_->tokens[index];
  }
  template <typename Wanted>
  Tree child(Wanted wanted, std::size_t n) const {
    if (in_ == nullptr) return {};
    const std::uint32_t end = node().end;
    for (std::uint32_t i = index_ + 1; i < end; i = in_->nodes[i].end) {
      if (wanted(in_->nodes[i]) && n-- == 0) return {*in_, i};
    }
    return {};
  }
  template <typename Wanted>
  std::vector<Tree> children(Wanted wanted) const {
    std::vector<Tree> result;
    if (in_ == nullptr) return result;
    const std::uint32_t end = node().end;
    for (std::uint32_t i = index_ + 1; i < end; i = in_->nodes[i].end) {
      if (wanted(in_->nodes[i])) result.emplace_back(*in_, i);
    }
    return result;
  }

  const ParseTree* in_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace ampc::lang::syntax
