// Codes of what is wrong with the text of a rule file, and with files and imports.
#include "ampc/diag/catalog.h"

namespace ampc::catalog {
namespace {

constexpr CodeText kList[] = {
    {"AMPC0001", "bad-character", "a character that has no meaning in a rule file", false,
     "Statements need no terminator, conditions are joined by words (and, or, not), and names with\n"
     "unusual letters stand in double quotes.",
     "allow MatMul;", "allow MatMul"},
    {"AMPC0002", "open-string", "a string or a regular expression that is not closed", false,
     "A string ends with \" and a regular expression with / on the line on which it begins. A / inside\n"
     "of a regular expression is written \\/.",
     "node \"/head/* keep fp32", "node \"/head/*\" keep fp32"},
    {"AMPC0003", "bad-escape", "an escape that a string does not know", false,
     "In a string, \\\" stands for \" and \\\\ for \\, nothing else is escaped. A name that needs more is\n"
     "described by a regular expression between slashes.",
     R"(node "layer\.1" keep fp32)", R"(node /layer\.1/ keep fp32)"},
    {"AMPC0004", "foreign-comment", "a comment in another language's style", false,
     "A comment begins with # and reaches to the end of its line; one that begins with /// documents the\n"
     "statement below it.",
     "// products\nallow MatMul", "# products\nallow MatMul"},
    {"AMPC0005", "lonely-doc", "a /// that documents nothing", true,
     "A comment that begins with /// documents the statement directly below it, and `ampc doc` shows it\n"
     "there. Above `amp 1`, or below it with a blank line behind, it documents the file. Other comments\n"
     "begin with #.",
     "allow MatMul  /// products", "/// products\nallow MatMul"},
    {"AMPC0010", "expected", "something else should stand here", false,
     "The statement cannot go on like this. The message says what may stand at this place; the rest of\n"
     "the file is read on from the next statement.",
     "deny Exp,", "deny Exp, Log"},
    {"AMPC0011", "unknown-statement", "a word that begins no statement", false,
     "Every statement begins with a word of the language or with an operator's name that has a role.\n"
     "Mostly a word is misspelt.",
     "alow MatMul", "allow MatMul"},
    {"AMPC0012", "unclosed-body", "a { without its }", false,
     "The body of a scope, a block, a level or a pattern ends with }. The message marks the { that has\n"
     "none; the statements in it were read all the same.",
     "scope \"/decoder\" {\n  deny MatMul", "scope \"/decoder\" {\n  deny MatMul\n}"},
    {"AMPC0013", "stray-brace", "a } without its {", false,
     "There is a } too many, or the { was left out of the statement that it should end.", "deny MatMul\n}",
     "scope \"/decoder\" {\n  deny MatMul\n}"},
    {"AMPC0014", "too-deep", "nested too deeply", false,
     "Braces and parentheses nest at most 64 deep, and a pattern has a limit of steps. No rule needs\n"
     "that many: give parts of a condition rules of their own.",
     "", ""},
    {"AMPC0020", "no-version", "the file does not say which version of the language it is in", false,
     "A rule file begins with `amp 1`, so that a later version of the language can read it as it was\n"
     "meant. It stands before the first statement; comments may stand above it.",
     "allow MatMul", "amp 1\nallow MatMul"},
    {"AMPC0021", "unknown-version", "a version of the language that this compiler does not know", false,
     "The file was written for another version of ampc. This one knows version 1. Nothing else of the\n"
     "file was read.",
     "amp 2\nallow MatMul", "amp 1\nallow MatMul"},
    {"AMPC0030", "misplaced", "a statement where it cannot stand", false,
     "Imports, aliases, levels and what holds for a whole model stand at the head level of a file, not in\n"
     "a scope; what a level consists of stands in its braces alone.",
     "scope \"/decoder\" {\n  import \"levels.amp\"\n}",
     "import \"levels.amp\"\nscope \"/decoder\" {\n  deny MatMul\n}"},
    {"AMPC0031", "bad-value", "a value that a setting or an action does not have", false,
     "Settings take one of a few words, which the message lists. The only type that an operand can be\n"
     "kept in is fp32.",
     "overflow clip", "overflow clamp"},
    {"AMPC0032", "bad-pattern", "a glob or a regular expression that is none", false,
     "In quotes, * stands for anything within a part of a path, ** across parts, ? for one letter, {a,b}\n"
     "and {0..3} for alternatives. Between slashes stands a regular expression of RE2, which has neither\n"
     "look-around nor references to groups.",
     "node \"/layer.{0,1\" keep fp32", "node \"/layer.{0,1}\" keep fp32"},
    {"AMPC0033", "bad-range", "a range of nodes that holds none", false,
     "Nodes of a block are counted from 0, and the last one is not in the range: [1,3) has two.",
     "block \"main\" nodes [3,3) {\n  deny MatMul\n}", "block \"main\" nodes [3,4) {\n  deny MatMul\n}"},
    {"AMPC0034", "bad-number", "a number out of range", false,
     "Positions of operands are whole numbers from 1, versions whole and positive, and every number has\n"
     "to fit a double.",
     "LayerNormalization arg 2.5 keep fp32", "LayerNormalization arg 2 keep fp32"},
    {"AMPC0401", "no-such-file", "a rule file that is not found", false,
     "An import is looked for beside the file that it stands in, then in the folders given with -I, then\n"
     "among the rules that came with ampc. The notes list the places.",
     "import \"defalt.amp\"", "import \"default.amp\""},
    {"AMPC0402", "unreadable", "a rule file that cannot be read", false,
     "The file is there, but the system refuses to read it: its permissions, or a fault of the disk.", "", ""},
    {"AMPC0403", "not-rules", "this is no rule file", false,
     "What was given is a model, a folder, or bytes that are no UTF-8 text. On the command line the rules\n"
     "come first: ampc RULES MODEL.",
     "", ""},
    {"AMPC0404", "import-cycle", "imports that go in a circle", false,
     "A file imports itself, at once or through others; the note shows the chain. Move what both sides need\n"
     "into a file that imports neither.",
     "", ""},
    {"AMPC0405", "empty-file", "a rule file without anything in it", false,
     "A rule file begins with `amp 1`. An empty one is mostly a file that was never saved.", "", "amp 1\nallow MatMul"},
};

}  // namespace

std::span<const CodeText> syntax() { return kList; }

}  // namespace ampc::catalog
