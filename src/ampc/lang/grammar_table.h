// The grammar as tables, made from its own automaton when ampc is built (tools/make_grammar_table.cc). One token of
// lookahead decides everywhere, which is checked there: so to parse is to walk a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ampc_grammar_words.h"  // R and T: the grammar's rules and tokens, in its own words

namespace ampc::lang::syntax {

/// A step of the automaton.
struct GrammarStep {
  enum class Kind : std::uint8_t {
    match,      // the token `what`, then `next`
    match_any,  // a token that row `what` of the choices has a step for, then that
    choose,     // the step that row `what` of the choices has for the next token, which is not taken
    call,       // the rule `what`, then `next`
    leave,      // this rule
  };
  Kind kind;
  std::uint16_t what;
  std::int16_t next;
};

/// A word or sign that the grammar writes out.
struct GrammarLiteral {
  std::string_view text;
  T type;
};

extern const std::span<const GrammarStep> kGrammarSteps;
/// Steps by row and token; -1 where the token is none that may stand there.
extern const std::span<const std::int16_t> kGrammarChoices;
/// The first step of each rule.
extern const std::span<const std::int16_t> kGrammarRules;
/// By text.
extern const std::span<const GrammarLiteral> kGrammarLiterals;

}  // namespace ampc::lang::syntax
