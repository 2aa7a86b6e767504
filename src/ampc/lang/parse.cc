#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "ampc/diag/codes.h"
#include "ampc/lang/ast.h"
#include "ampc/lang/docs.h"
#include "ampc/lang/quick_lexer.h"
#include "ampc/lang/syntax.h"
#include "ampc/lang/tree_builder.h"

namespace ampc::lang::ast {

namespace {

constexpr std::string_view kVersion = "1";  // of the language

using syntax::AmpLexer;

// Another version may have another grammar: nothing after its first line is worth reading.
bool known_version(antlr4::CommonTokenStream& tokens, const syntax::Places& places, Diagnostics& diagnostics) {
  if (tokens.size() < 2 || tokens.get(0)->getType() != AmpLexer::AMP || tokens.get(1)->getType() != AmpLexer::NUMBER) {
    return true;  // reported as a syntax error, or below
  }
  const antlr4::Token* number = tokens.get(1);
  if (number->getText() == kVersion) return true;
  diagnostics.error(codes::kNoSuchVersion, "version " + number->getText() + " of the rule language is not known")
      .at(places.of(number))
      .fix("this compiler knows version " + std::string(kVersion) + ": write amp " + std::string(kVersion));
  return false;
}

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
        .edit({file.id, 0, 0}, "amp " + std::string(kVersion) + "\n");
  }
}

struct Lexed {
  Lexed(FileId id, const std::string& text) : places(id, text), letters(text), lexer(letters), tokens(&lexer) {
    lexer.removeErrorListeners();
    tokens.fill();
  }
  syntax::Places places;
  syntax::Letters letters;
  syntax::QuickLexer lexer;
  antlr4::CommonTokenStream tokens;
};

void parse_whole(antlr4::CommonTokenStream& tokens, const syntax::Places& places, Diagnostics& diagnostics,
                 const syntax::FaultyLines& faulty, File& file) {
  syntax::AmpParser parser(&tokens);
  parser.removeErrorListeners();
  // Most files have no mistake: the quick way first.
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  try {
    syntax::build(parser.file()->statement(), places, diagnostics, {}, file);
  } catch (const antlr4::ParseCancellationException&) {
    // What the runtime knows of the grammar for this, all parsers share, and it is made as it is needed.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    tokens.seek(0);
    parser.reset();
    parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::LL);
    const auto recovery = std::make_shared<syntax::StatementRecovery>(places, diagnostics, faulty);
    parser.setErrorHandler(recovery);
    syntax::build(parser.file()->statement(), places, diagnostics, recovery->given_back(), file);
  }
}

}  // namespace

File parse(FileId id, const SourceMap& sources, Diagnostics& diagnostics) {
  File file{id, {}, {}, {}};
  std::string text(sources.text(id));
  syntax::FaultyLines faulty;
  auto lexed = std::make_unique<Lexed>(file.id, text);
  if (!known_version(lexed->tokens, lexed->places, diagnostics)) return file;
  if (syntax::mend(text, lexed->tokens, lexed->places, diagnostics, faulty)) lexed = std::make_unique<Lexed>(id, text);
  antlr4::CommonTokenStream& tokens = lexed->tokens;
  const syntax::Places& places = lexed->places;
  if (!syntax::check_tokens(tokens, places, diagnostics, faulty)) return file;

  for (const antlr4::Token* token : tokens.getTokens()) {
    if (token->getType() != AmpLexer::QNAME) continue;
    const std::string name = token->getText();
    file.domains.insert(name.substr(0, name.find("::")));
  }
  auto parts = faulty.empty() ? syntax::parse_in_parts(tokens.getTokens(), places, diagnostics) : std::nullopt;
  if (parts) {
    file.statements = std::move(*parts);
  } else {
    parse_whole(tokens, places, diagnostics, faulty, file);
  }
  syntax::attach_docs(file, text, tokens, places, diagnostics);
  check_place_of_version(file, tokens.size() != 0 && tokens.get(0)->getType() == AmpLexer::AMP, diagnostics);
  return file;
}

}  // namespace ampc::lang::ast
