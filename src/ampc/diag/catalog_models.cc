// Codes of what lies in a model, in rules that meet it, or on the machine.
#include "ampc/diag/catalog.h"

namespace ampc::catalog {
namespace {

constexpr CodeText kList[] = {
    {"AMPC1001", "cannot-read", "a model file that cannot be read", false,
     "It does not exist, is no regular file, or the system refuses it.", "", ""},
    {"AMPC1002", "not-onnx", "bytes that are no ONNX model", false,
     "The file is empty, a text, truncated, or in another format. onnx.checker says the same of it.", "", ""},
    {"AMPC1003", "unknown-model-version", "an IR version or an opset that this compiler does not know", false,
     "IR versions from 3 and opsets 7 to 28 are read. onnx.version_converter brings older models forward.", "", ""},
    {"AMPC1004", "two-producers", "two values of one name", false,
     "Every value of a graph needs a name of its own. Export the model again, or rename one of the two.", "", ""},
    {"AMPC1005", "dangling", "an operand that nothing makes", false,
     "The node reads a name that is no input, no weight and no result of another node in reach.", "", ""},
    {"AMPC1006", "cycle", "nodes that need one another's results", false,
     "A graph has no cycle. A value that is carried round belongs in a Loop.", "", ""},
    {"AMPC1007", "unsorted", "nodes out of topological order", true,
     "ONNX asks that a node stands behind those whose results it reads. ampc sorts them; other tools may not.", "", ""},
    {"AMPC1008", "unknown-operator", "an operator that its opset has not got", false,
     "The model imports an opset of the domain in which there is no such operator, or no opset at all.", "", ""},
    {"AMPC1009", "type-clash", "one type variable bound to two types", false,
     "The model was not valid before ampc saw it: onnx.checker with full_check shows the same fault.", "", ""},
    {"AMPC1010", "external-missing", "external data that is missing or too short", false,
     "A weight lies in a file beside the model. Move that file along with the model, under the name that the\n"
     "model has for it.",
     "", ""},
    {"AMPC1011", "external-escapes", "an external path that leaves the model's folder", false,
     "ONNX allows only paths below the folder of the model, so that a model cannot read other files.", "", ""},
    {"AMPC1012", "bad-tensor", "a tensor whose bytes do not fit its shape", false,
     "The number of bytes, or of elements, is not what type and dimensions ask for. The file is damaged.", "", ""},
    {"AMPC1013", "undeclared", "an operator that nothing declares", true,
     "ONNX has no schema of it and no rule file an `extern`, so its types are not known: its nodes stay as\n"
     "they are. The warning shows a declaration as far as the model tells it.",
     "", "extern com.acme::Router(x: T) -> (y: T) where T in fp32, fp16\nallow com.acme::Router"},
    {"AMPC1014", "unknown-type", "a value whose type nothing tells", true,
     "The node that makes it has no schema, and the model no value_info for it. What reads it stays as it is.", "", ""},
    {"AMPC1015", "bad-node", "operands or attributes that do not fit the operator", false,
     "The node has more or fewer operands than its operator takes, or lacks an attribute that it needs.", "", ""},
    {"AMPC1016", "input-changed", "an input that changed during the run", false,
     "Something wrote to a file while it was read, or between ampc plan and ampc cast. Replace inputs by a\n"
     "rename, and run again.",
     "", ""},
    {"AMPC1017", "opset", "an opset that the model cannot be brought to", false,
     "--opset raises the model's opset by onnx's version converter, never lowers it, and the converter does not\n"
     "know the way for every operator. The message says where it stopped.",
     "", ""},
    {"AMPC1020", "overflow", "a weight that the low type cannot hold", true,
     "A value beyond the largest number of the low type is never changed in silence. The weight and what reads\n"
     "it stay fp32. `overflow clamp` or `overflow inf` say what else shall become of it; bf16 has the range of\n"
     "fp32.",
     "", ""},
    {"AMPC1021", "no-effect", "a rule that has no effect in this model", true,
     "A schema, an optimizer or a weight rules it out. The message says which.", "", ""},
    {"AMPC1022", "tied-role", "a kept operand that the schema ties to others", true,
     "The operator has one type for this operand and the others, so the whole node stays fp32. `store fp32`\n"
     "keeps the weight in fp32 on disk and casts it at use; `on conflict` sets what is done.",
     "", ""},
    {"AMPC1024", "newer-opset", "nodes that a newer opset would free", true,
     "The model's opset has no low type for these nodes, a later one has. --opset N brings the model there.", "", ""},
    {"AMPC1025", "unused-rule", "a rule that matches nothing in this model", true,
     "A name that no node or value has, a scope without nodes, a pattern that is not there. Where a name is\n"
     "near, the message says so.",
     "", ""},
    {"AMPC1026", "lone-function", "a function that could not be inlined", true,
     "It imports other opsets than the model. It stays a function.", "", ""},
    {"AMPC1027", "mixed-low", "the other low type is in the model already", true,
     "Values of fp16 in a model that becomes bf16, or the reverse, stay as they are and meet the others\n"
     "through fp32.",
     "", ""},
    {"AMPC1028", "against-declaration", "nodes that contradict a declaration", true,
     "An `extern` says other operands, results or types than the node has. The node stays as it is.", "", ""},
    {"AMPC1029", "scope-conflict", "two scopes of one rank that disagree about a node", false,
     "Neither stands in the other, and both hold at the node. Put one into the other, or set the same in both.", "",
     ""},
    {"AMPC1030", "gradient-cast", "a cast that cannot move behind an all-reduce", false,
     "A gradient is cast to fp32 behind its all-reduce. Something else reads the cast in front of it.", "", ""},
    {"AMPC1031", "underflow", "a weight much of which becomes zero", true,
     "`weight where underflow > 1% keep fp32` keeps such weights in fp32; `underflow flush` says that it is\n"
     "meant.",
     "", ""},
    {"AMPC1034", "patterns-overlap", "two patterns that meet and say different things", true,
     "The nodes in question are fp32. A narrower pattern, or `override pattern NAME off`, decides.", "", ""},
    {"AMPC1035", "pattern-too-wide", "a pattern that can match in too many ways", true,
     "Alternatives, optional calls and operands in any order multiply. Not all ways were tried at the node in\n"
     "question, so the pattern may be missing there. Split it, or name more of what it holds.",
     "", ""},
    {"AMPC2001", "cannot-write", "an output that cannot be written", false,
     "The folder is missing, full or not writable. What was there before is still there.", "", ""},
    {"AMPC2002", "same-file", "an output that would overwrite an input", false,
     "ampc never writes over what it reads, by whatever path it is named. Give another name with -o.", "", ""},
    {"AMPC2003", "too-large", "a result beyond the 2 GiB of an ONNX file", false,
     "Weights below --threshold stay in the model file. Lower it, so that more of them go into the data file.", "", ""},
    {"AMPC2004", "depfile-name", "a file name that a depfile cannot hold", true,
     "make, Ninja and CMake read some characters wrongly in depfiles. A newline cannot be written at all.", "", ""},
    {"AMPC2005", "bad-plan", "a plan that cannot be used", false,
     "It is none, it is damaged, or another version of ampc made it. Make it again with ampc plan.", "", ""},
    {"AMPC2006", "bad-shard", "shards that are not those of the plan, each once", false,
     "One is missing, there twice, damaged, cast by another plan, or from another model than the one that\n"
     "ampc link was given with --model. ampc link writes nothing then.",
     "", ""},
    {"AMPC2007", "unmeasured", "a weight that ampc plan --unmeasured took for ordinary", false,
     "Casting has shown values that the low type cannot hold, or much that becomes zero. What becomes of such a\n"
     "weight is for the rules to decide: make the plan without --unmeasured.",
     "", ""},
    {"AMPC2009", "cast-device", "the CPU cast what a device was meant to", true,
     "There is no device, or it failed. The output is the same.", "", ""},
    {"AMPC2010", "cache", "weights are cast without the cache", true,
     "The folder that --cache names cannot be made, read or written. The output is the same.", "", ""},
    {"AMPC2011", "expectation", "rules that decide something else than is expected", false,
     "A line of the file that `ampc test` was given does not hold for the model, or means no node of it. The\n"
     "places beside it are the statements that decided.",
     "", ""},
    {"AMPC2012", "bad-expectation", "a line of expectations that says nothing", false,
     "Lines are `model PATH`, `[NODES] OPERATOR low|fp32|left` and `casts|low|fp32|left <=|==|>= N`.", "", ""},
    {"AMPC2020", "manifest", "a manifest of `ampc build` that is wrong", false,
     "Each key is one that a manifest has, and stands once. `true` and `false` are without quotes, numbers\n"
     "decimal; each pattern means at least one model.",
     "", ""},
};

}  // namespace

std::span<const CodeText> models() { return kList; }

}  // namespace ampc::catalog
