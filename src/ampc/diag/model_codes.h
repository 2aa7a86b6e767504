// Codes of faults that lie in a model (AMPC1xxx) or on the machine (AMPC2xxx).
#pragma once

#include <string_view>

namespace ampc::codes {

inline constexpr std::string_view kCannotRead = "AMPC1001";      // the model file cannot be opened or read
inline constexpr std::string_view kNotOnnx = "AMPC1002";         // the bytes are no ONNX model
inline constexpr std::string_view kUnknownVersion = "AMPC1003";  // IR version or opset out of range
inline constexpr std::string_view kTwoProducers = "AMPC1004";    // two values of one name
inline constexpr std::string_view kDangling = "AMPC1005";        // an operand that nothing makes
inline constexpr std::string_view kCycle = "AMPC1006";           // nodes that need one another
inline constexpr std::string_view kUnsorted = "AMPC1007";  // nodes not in topological order (warning; they are sorted)
inline constexpr std::string_view kUnknownOperator = "AMPC1008";  // an operator that its opset has not got
inline constexpr std::string_view kTypeClash = "AMPC1009";        // one type variable bound to two types
inline constexpr std::string_view kExternalMissing = "AMPC1010";  // an external data file that is missing or too short
inline constexpr std::string_view kExternalEscapes = "AMPC1011";  // an external path that leaves the model's folder
inline constexpr std::string_view kBadTensor = "AMPC1012";        // a tensor whose bytes do not fit its shape
inline constexpr std::string_view kBadNode =
    "AMPC1015";  // operands or attributes that the operator has not got, or needs
inline constexpr std::string_view kInputChanged = "AMPC1016";  // an input that was written to during the run
inline constexpr std::string_view kUndeclared = "AMPC1013";    // an operator without schema (warning)
inline constexpr std::string_view kUnknownType = "AMPC1014";   // a value whose type nothing tells (warning)
inline constexpr std::string_view kOverflow = "AMPC1020";      // a weight that the low type cannot hold
inline constexpr std::string_view kNoEffect = "AMPC1021";      // a rule that a schema overrules (R17)
inline constexpr std::string_view kTiedRole = "AMPC1022";    // a role on an operand that the schema ties to others (R7)
inline constexpr std::string_view kOpset = "AMPC1017";       // an opset that the model cannot be brought to
inline constexpr std::string_view kOpsetNote = "AMPC1024";   // nodes that a newer opset would free
inline constexpr std::string_view kUnusedRule = "AMPC1025";  // a rule that matched nothing
inline constexpr std::string_view kLoneFunction = "AMPC1026";  // a function that `functions inline` could not inline
inline constexpr std::string_view kMixedLow = "AMPC1027";      // the other low type is in the model already
inline constexpr std::string_view kAgainstDeclaration = "AMPC1028";  // nodes that contradict an `extern` (warning)
inline constexpr std::string_view kScopeConflict = "AMPC1029";       // two scopes of one rank that disagree
inline constexpr std::string_view kGradientCast = "AMPC1030";     // a cast that cannot move behind an all-reduce (R27)
inline constexpr std::string_view kUnderflow = "AMPC1031";        // a weight much of which the low type makes zero
inline constexpr std::string_view kPatternsOverlap = "AMPC1034";  // two patterns that say different things of a node
inline constexpr std::string_view kPatternTooWide = "AMPC1035";   // a pattern that could match in too many ways
inline constexpr std::string_view kCannotWrite = "AMPC2001";      // the output cannot be written
inline constexpr std::string_view kSameFile = "AMPC2002";         // the output would overwrite an input
inline constexpr std::string_view kTooLarge = "AMPC2003";         // the output passes protobuf's 2 GiB
inline constexpr std::string_view kDepfileName = "AMPC2004";      // a name that a depfile cannot hold
inline constexpr std::string_view kBadPlan = "AMPC2005";          // `ampc cast`, `ampc link`: a plan that is none
inline constexpr std::string_view kBadShard = "AMPC2006";         // `ampc link`: not the plan's shards, each once
inline constexpr std::string_view kUnmeasured = "AMPC2007";       // `ampc link`: a weight that needed a decision
inline constexpr std::string_view kCache = "AMPC2010";            // the folder of cast weights cannot be used (note)
inline constexpr std::string_view kExpectation = "AMPC2011";      // `ampc test`: rules decide something else
inline constexpr std::string_view kBadExpectation = "AMPC2012";   // `ampc test`: a line that says nothing
inline constexpr std::string_view kCastDevice = "AMPC2009";       // the CPU casts what a device was to (note)

}  // namespace ampc::codes
