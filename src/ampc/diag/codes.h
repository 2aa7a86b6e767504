// The stable codes of diagnostics. A code, once released, keeps its meaning; the text may change.
#pragma once

#include <string_view>

namespace ampc::codes {

using Code = std::string_view;

// 00xx: the text of a rule file
inline constexpr Code kBadCharacter = "AMPC0001";      // a character that the language does not know
inline constexpr Code kOpenString = "AMPC0002";        // a string or a pattern that is not closed
inline constexpr Code kBadEscape = "AMPC0003";         // an escape other than \" and \\ in a string
inline constexpr Code kForeignComment = "AMPC0004";    // a comment that begins with // or /*
inline constexpr Code kLonelyDoc = "AMPC0005";         // a `///` with no statement below it
inline constexpr Code kExpected = "AMPC0010";          // something else should stand here
inline constexpr Code kUnknownStatement = "AMPC0011";  // a word that begins no statement
inline constexpr Code kUnclosedBody = "AMPC0012";      // a { without its }
inline constexpr Code kStrayBrace = "AMPC0013";        // a } without its {
inline constexpr Code kTooDeep = "AMPC0014";           // nested too deeply
inline constexpr Code kNoVersion = "AMPC0020";         // the file does not begin with `amp 1`
inline constexpr Code kNoSuchVersion = "AMPC0021";     // a version of the language that this compiler does not know
inline constexpr Code kMisplaced = "AMPC0030";         // a statement where it cannot stand
inline constexpr Code kBadValue = "AMPC0031";          // a value that a setting or an action does not have
inline constexpr Code kBadPattern = "AMPC0032";        // a glob or a regular expression that is none
inline constexpr Code kBadRange = "AMPC0033";          // a range of nodes that holds none
inline constexpr Code kBadNumber = "AMPC0034";         // a number out of range

// 01xx: names
inline constexpr Code kNoSuchOperator = "AMPC0101";
inline constexpr Code kUnknownLevel = "AMPC0102";
inline constexpr Code kUnknownOperand = "AMPC0103";    // by name
inline constexpr Code kNoSuchPosition = "AMPC0104";    // by position
inline constexpr Code kUnboundParameter = "AMPC0105";  // a parameter of an alias that stands for no operand
inline constexpr Code kUnknownName = "AMPC0106";       // in `where`: neither operand nor attribute
inline constexpr Code kUnknownParameter = "AMPC0107";  // an alias binds to a parameter that it does not list
inline constexpr Code kAliasHidesOperator = "AMPC0108";
inline constexpr Code kUnknownProperty = "AMPC0109";  // `X is …`, `…(X)`, a measure of weights
inline constexpr Code kBadDeclaration = "AMPC0110";   // an `extern` that makes no sense, or that ONNX has already
inline constexpr Code kNearlyDeclared = "AMPC0111";   // an operator beside a declared one of nearly that name

// 02xx: types and schemas
inline constexpr Code kNeverFloat = "AMPC0201";     // a role on an operand that is never float
inline constexpr Code kNeverLow = "AMPC0202";       // `allow` of an operator that no opset lowers
inline constexpr Code kBadComparison = "AMPC0203";  // the two sides do not go together
inline constexpr Code kNeedsPosition = "AMPC0204";  // an operand by name where no schema tells the names
inline constexpr Code kNothingLeft = "AMPC0206";    // `* except` every operand
inline constexpr Code kNoSuchType = "AMPC0205";     // in `extern`
inline constexpr Code kIdleCondition = "AMPC0207";  // a condition that holds never, or always

// 03xx: contradictions
inline constexpr Code kContradiction = "AMPC0301";
inline constexpr Code kDuplicate = "AMPC0302";
inline constexpr Code kSettingTwice = "AMPC0303";
inline constexpr Code kDefinedTwice = "AMPC0304";  // a level, an alias, an operator
inline constexpr Code kNothingToOverride = "AMPC0305";
inline constexpr Code kSealed = "AMPC0306";  // what an imported file seals is replaced, or something narrower is said

// 04xx: files and imports
inline constexpr Code kNoSuchFile = "AMPC0401";
inline constexpr Code kUnreadable = "AMPC0402";
inline constexpr Code kNotRules = "AMPC0403";  // a model, a folder, bytes that are no text
inline constexpr Code kImportCycle = "AMPC0404";
inline constexpr Code kEmptyFile = "AMPC0405";

}  // namespace ampc::codes
