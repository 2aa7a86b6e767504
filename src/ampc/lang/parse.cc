#include <optional>
#include <set>
#include <string>

#include "ampc/diag/codes.h"
#include "ampc/lang/ast.h"
#include "ampc/lang/docs.h"
#include "ampc/lang/parse_quick.h"
#include "ampc/lang/parse_slow.h"
#include "ampc/lang/tree_builder.h"

namespace ampc::lang::ast {

namespace {

// `amp 1` stands first, and nowhere else.
void check_place_of_version(const File& file, bool begins_with_amp, Diagnostics& diagnostics) {
  if (file.statements.empty()) {
    if (begins_with_amp || diagnostics.failed()) return;
    diagnostics.error(codes::kNoVersion, "the file says nothing")
        .at({file.id, 0, 0})
        .fix("a rule file begins with 'amp 1'");
    return;
  }
  bool late = false;
  for (const Statement& s : file.statements) {
    if (!std::holds_alternative<Version>(s.node) || (&s == file.statements.data() && begins_with_amp)) continue;
    diagnostics.error(codes::kMisplaced, "the version stands once, at the head of the file")
        .at(s.span)
        .fix(begins_with_amp || late ? "leave it out" : "move it before the first statement");
    late = true;
  }
  if (!begins_with_amp && !late) {
    diagnostics.error(codes::kNoVersion, "the file does not say which version of the rule language it is in")
        .at(file.statements.front().keyword)
        .fix("write 'amp 1' before the first statement")
        .edit({file.id, 0, 0}, "amp " + std::string(syntax::kVersion) + "\n");
  }
}

}  // namespace

File parse(FileId id, const SourceMap& sources, Diagnostics& diagnostics) {
  File file{id, {}, {}, {}};
  std::string mended;
  Diagnostics found;
  std::optional<syntax::ParseTree> tree = syntax::parse_quick(
      id, sources.text(id), [&](syntax::Tree statement) { syntax::build_statement(statement, found, file); });
  if (tree) {
    diagnostics.take(found);
  } else {
    file.statements.clear();
    mended = sources.text(id);
    std::set<std::size_t> given_back;
    tree = syntax::parse_slow(id, mended, diagnostics, given_back);
    if (!tree) return file;
    syntax::build(*tree, diagnostics, given_back, file);
  }
  for (const syntax::TreeToken& token : tree->tokens) {
    if (token.type != syntax::T::QNAME) continue;
    const std::string_view name = tree->text.substr(token.begin, token.end - token.begin);
    const std::string_view domain = name.substr(0, name.find("::"));
    if (!file.domains.contains(domain)) file.domains.emplace(domain);
  }
  syntax::attach_docs(file, *tree, diagnostics);
  check_place_of_version(file, tree->tokens[0].type == syntax::T::AMP, diagnostics);
  return file;
}

}  // namespace ampc::lang::ast
