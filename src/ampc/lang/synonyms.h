// Words that other tools and languages have for what is meant here: for "did you mean", nothing is accepted by them.
#pragma once

#include <string_view>

namespace ampc::lang {

/// The name here of a data type that is called `word` elsewhere ("half", "float32"); empty where it is none.
std::string_view type_meant(std::string_view word);

/// The question about an operand that is called `word` elsewhere ("ndim"); empty where it is none.
std::string_view question_meant(std::string_view word);

/// The word that begins the statement which begins with `word` elsewhere ("include"); empty where it is none.
std::string_view statement_meant(std::string_view word);

}  // namespace ampc::lang
