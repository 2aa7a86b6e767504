// Writes the grammar that it is linked with as C++: its rules and tokens, and its automaton as a table
// (grammar_table.h).
//
//   make_grammar_table WORDS.h TABLE.cc
//
// Fails where one token of lookahead does not decide: a table of single tokens would parse something else than ANTLR.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <atn/ATN.h>
#include <atn/AtomTransition.h>
#include <atn/DecisionState.h>
#include <atn/LL1Analyzer.h>
#include <atn/RuleStartState.h>
#include <atn/RuleTransition.h>
#include <atn/SetTransition.h>
#include <fmt/format.h>
#include <misc/IntervalSet.h>

#include "AmpParser.h"

namespace {

using antlr4::atn::ATNState;
using antlr4::atn::Transition;

constexpr int kNone = -1;

struct Step {
  std::string kind;
  std::size_t what;
  int next;
};

class Table {
 public:
  explicit Table(const antlr4::Parser& parser)
      : atn_(parser.getATN()),
        rule_names_(parser.getRuleNames()),
        tokens_(parser.getVocabulary().getMaxTokenType() + 1) {
    for (ATNState* start : atn_.ruleToStartState) rules_.push_back(step_of(start));
    while (!pending_.empty()) {
      const auto [state, at] = pending_.front();
      pending_.pop_front();
      fill(state, at);
    }
  }

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<std::vector<int>>& rows() const { return rows_; }
  const std::vector<int>& rules() const { return rules_; }

 private:
  // Past what takes no token and decides nothing.
  static ATNState* settled(ATNState* state) {
    while (state->getStateType() != ATNState::RULE_STOP && state->transitions.size() == 1 &&
           state->transitions[0]->getSerializationType() == Transition::EPSILON) {
      state = state->transitions[0]->target;
    }
    return state;
  }

  int step_of(ATNState* state) {
    state = settled(state);
    const auto [it, is_new] = known_.emplace(state, static_cast<int>(steps_.size()));
    if (is_new) {
      steps_.push_back({"leave", 0, kNone});
      pending_.emplace_back(state, steps_.size() - 1);
    }
    return it->second;
  }

  void fill(ATNState* state, std::size_t at) {
    if (state->getStateType() == ATNState::RULE_STOP) return;
    const Step step = state->transitions.size() > 1 ? choice(state) : single(*state->transitions[0]);
    steps_[at] = step;
  }

  Step single(Transition& transition) {
    switch (transition.getSerializationType()) {
      case Transition::RULE: {
        const auto& call = dynamic_cast<antlr4::atn::RuleTransition&>(transition);
        return {"call", static_cast<std::size_t>(call.ruleIndex), step_of(call.followState)};
      }
      case Transition::ATOM:
      case Transition::RANGE:
      case Transition::SET: {
        std::vector<int> row(tokens_, kNone);
        const int next = step_of(transition.target);
        const std::vector<std::size_t> types = columns(transition.label());
        if (types.size() == 1) return {"match", types[0], next};
        for (const std::size_t type : types) row[type] = next;
        return {"match_any", row_of(std::move(row)), kNone};
      }
      default:
        throw std::runtime_error("the grammar has an action, a predicate or a set of excluded tokens");
    }
  }

  Step choice(ATNState* state) {
    const antlr4::atn::LL1Analyzer analyzer(atn_);
    const auto looks = analyzer.getDecisionLookahead(state);
    std::vector<int> row(tokens_, kNone);
    for (std::size_t alternative = 0; alternative < looks.size(); ++alternative) {
      const int next = step_of(state->transitions[alternative]->target);
      for (const std::size_t type : columns(looks[alternative])) {
        if (row[type] != kNone && row[type] != next) {
          throw std::runtime_error(fmt::format("rule {}: one token of lookahead does not decide, token {}",
                                               rule_names_[state->ruleIndex], type));
        }
        row[type] = next;
      }
    }
    return {"choose", row_of(std::move(row)), kNone};
  }

  // The file's end is token 0 here.
  static std::vector<std::size_t> columns(const antlr4::misc::IntervalSet& set) {
    std::vector<std::size_t> result;
    for (const auto type : set.toList()) {
      if (type == -1) result.push_back(0);
      if (type > 0) result.push_back(static_cast<std::size_t>(type));
    }
    return result;
  }

  std::size_t row_of(std::vector<int> row) {
    const auto at = std::find(rows_.begin(), rows_.end(), row);
    if (at != rows_.end()) return static_cast<std::size_t>(at - rows_.begin());
    rows_.push_back(std::move(row));
    return rows_.size() - 1;
  }

  const antlr4::atn::ATN& atn_;
  const std::vector<std::string>& rule_names_;
  std::size_t tokens_;
  std::map<ATNState*, int> known_;
  std::deque<std::pair<ATNState*, std::size_t>> pending_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> rows_;
  std::vector<int> rules_;
};

void write_words(std::ostream& out, const antlr4::Parser& parser) {
  out << "// Made by make_grammar_table from the grammar.\n#pragma once\n\n#include <cstdint>\n\n"
         "namespace ampc::lang::syntax {\n\nenum class R : std::uint8_t {\n";
  for (const std::string& rule : parser.getRuleNames()) out << "  " << rule << ",\n";
  out << "};\n\nenum class T : std::uint8_t {\n  END_OF_FILE,\n";
  const auto& vocabulary = parser.getVocabulary();
  for (std::size_t type = 1; type <= vocabulary.getMaxTokenType(); ++type) {
    out << "  " << vocabulary.getSymbolicName(type) << ",\n";
  }
  out << "};\ninline constexpr int kTokenTypes = " << vocabulary.getMaxTokenType() + 1
      << ";\n\n}  // namespace ampc::lang::syntax\n";
}

void write_table(std::ostream& out, const antlr4::Parser& parser) {
  const Table table(parser);
  out << "// Made by make_grammar_table from the grammar.\n#include \"ampc/lang/grammar_table.h\"\n\n"
         "namespace ampc::lang::syntax {\nnamespace {\n\nusing Kind = GrammarStep::Kind;\n\n"
         "constexpr GrammarStep kSteps[] = {\n";
  for (const Step& step : table.steps())
    out << fmt::format("    {{Kind::{}, {}, {}}},\n", step.kind, step.what, step.next);
  out << "};\nconstexpr std::int16_t kChoices[] = {\n";
  for (const auto& row : table.rows()) out << fmt::format("    {},\n", fmt::join(row, ", "));
  out << fmt::format("}};\nconstexpr std::int16_t kRules[] = {{{}}};\n", fmt::join(table.rules(), ", "));
  const auto& vocabulary = parser.getVocabulary();
  std::map<std::string, std::string> literals;
  for (std::size_t type = 1; type <= vocabulary.getMaxTokenType(); ++type) {
    const std::string quoted = vocabulary.getLiteralName(type);
    if (quoted.size() > 2) literals.emplace(quoted.substr(1, quoted.size() - 2), vocabulary.getSymbolicName(type));
  }
  out << "constexpr GrammarLiteral kLiterals[] = {\n";
  for (const auto& [text, type] : literals) out << fmt::format("    {{\"{}\", T::{}}},\n", text, type);
  out << "};\n\n}  // namespace\n\n"
         "const std::span<const GrammarStep> kGrammarSteps = kSteps;\n"
         "const std::span<const std::int16_t> kGrammarChoices = kChoices;\n"
         "const std::span<const std::int16_t> kGrammarRules = kRules;\n"
         "const std::span<const GrammarLiteral> kGrammarLiterals = kLiterals;\n\n"
         "}  // namespace ampc::lang::syntax\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_grammar_table WORDS.h TABLE.cc\n";
    return 2;
  }
  try {
    const ampc_grammar::AmpParser parser(nullptr);
    std::ofstream words(argv[1]);
    write_words(words, parser);
    std::ofstream table(argv[2]);
    write_table(table, parser);
    words.close();
    table.close();
    if (words && table) return 0;
    std::cerr << "make_grammar_table: the files cannot be written\n";
  } catch (const std::exception& e) {
    std::cerr << "make_grammar_table: " << e.what() << '\n';
  }
  return 1;
}
