// What `ampc check --fix` writes: the texts of rules before and after.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ampc/diag/mend.h"
#include "ampc/lang/rule_set.h"

namespace ampc::lang {
namespace {

namespace fs = std::filesystem;

fs::path import_folder() { return fs::path(AMPC_TESTS_DIR) / "golden" / "fail"; }

/// The text after so many rounds that nothing is left to mend.
std::string mended(std::string text) {
  for (int round = 0; round < 20; ++round) {
    SourceMap sources;
    Diagnostics diagnostics;
    CompileOptions options;
    options.import_dirs = {import_folder().string()};
    options.root_text = text;
    (void)compile("team.amp", options, sources, diagnostics);
    Mended next = mend(text, kRootFile, diagnostics.sorted(sources));
    if (next.fixes == 0) return text;
    text = std::move(next.text);
  }
  ADD_FAILURE() << "no end of it\n" << text;
  return text;
}

struct Case {
  const char* wrong;
  const char* right;
};

class Fix : public testing::TestWithParam<Case> {};

TEST_P(Fix, WritesWhatWasMeant) {
  EXPECT_EQ(mended(std::string("amp 1\n") + GetParam().wrong), std::string("amp 1\n") + GetParam().right);
}

INSTANTIATE_TEST_SUITE_P(
    Names, Fix,
    testing::Values(Case{"deny Softmx\n", "deny Softmax\n"},
                    Case{"allow  Matmul, Conv # products\n", "allow  MatMul, Conv # products\n"},
                    Case{"deny Sim\n", "deny Sim\n"},  // Sin or Sum: nobody knows
                    Case{"deny ai.onnx::Sofmax\n", "deny ai.onnx::Softmax\n"},
                    Case{"LayerNormalization arg Scal keep fp32\n", "LayerNormalization arg Scale keep fp32\n"},
                    Case{"deny Gather where data is wieght and axes == 1\n",
                         "deny Gather where data is weight and axis == 1\n"},
                    Case{"deny Mul where rnak(A) == 2\n", "deny Mul where rank(A) == 2\n"},
                    Case{"deny Mul where type(A) == half\n", "deny Mul where type(A) == fp16\n"},
                    Case{"deny Conv where auto_pad == VALID\n", "deny Conv where auto_pad == \"VALID\"\n"},
                    Case{"dtype fp61\n", "dtype fp16\n"}, Case{"promote onn\n", "promote on\n"},
                    Case{"overflow klamp\n", "overflow clamp\n"}, Case{"node \"/x\" loww\n", "node \"/x\" low\n"},
                    Case{"weight where absmx > 5 keep fp32\n", "weight where absmax > 5 keep fp32\n"},
                    Case{"level Own { default lwo }\nlevel Ownn\n", "level Own { default low }\nlevel Own\n"},
                    Case{"extern com.acme::A(x: T) -> (y: T) where T in fp32, bf61\n",
                         "extern com.acme::A(x: T) -> (y: T) where T in fp32, bf16\n"},
                    Case{"extern com.acme::Router(x: T) -> (y: T) where T in fp32, fp16\nallow com.acme::Ruoter\n",
                         "extern com.acme::Router(x: T) -> (y: T) where T in fp32, fp16\nallow com.acme::Router\n"},
                    Case{"pattern p(eps) { s = Exp(epsi) } kepp\n", "pattern p(eps) { s = Exp(eps) } keep fp32\n"}));

INSTANTIATE_TEST_SUITE_P(
    Grammar, Fix,
    testing::Values(Case{"alow MatMul\ndney Exp\n", "allow MatMul\ndeny Exp\n"},
                    Case{"allow MatMul;\n", "allow MatMul\n"}, Case{"deny Exp; deny Log;\n", "deny Exp deny Log\n"},
                    Case{"// why\ndeny Exp // so\n", "# why\ndeny Exp # so\n"},
                    Case{"/* why */\ndeny Exp\n", "# why\ndeny Exp\n"},
                    Case{"deny Mul where A == B && rank(A) = 2\n", "deny Mul where A == B and rank(A) == 2\n"},
                    Case{"deny Mul where A == B || rank(A) == 2\n", "deny Mul where A == B or rank(A) == 2\n"},
                    Case{"alias mm == MatMul\n", "alias mm = MatMul\n"},
                    Case{"tensor scaler keep fp32\n", "tensor \"scaler\" keep fp32\n"},
                    Case{"import parts/lists.amp\n", "import \"parts/lists.amp\"\n"},
                    Case{"deny Tan\nimport nowhere\n", "deny Tan\nimport \"nowhere.amp\"\n"},
                    Case{"scope \"/a/**\" {\n  deny Exp;\n}\n", "scope \"/a/**\" {\n  deny Exp\n}\n"}));

INSTANTIATE_TEST_SUITE_P(
    Statements, Fix,
    testing::Values(
        Case{"deny Exp\n# again\ndeny Exp\n", "deny Exp\n# again\n"}, Case{"deny Exp, Log, Exp\n", "deny Exp, Log\n"},
        Case{"deny Exp\n\ndeny Log, Exp\n", "deny Exp\n\ndeny Log\n"},
        Case{"deny Exp\ndeny Exp, Log\n", "deny Exp\ndeny Log\n"},
        Case{"promote on\r\npromote on\r\ndeny Exp\r\n", "promote on\r\ndeny Exp\r\n"},
        Case{"tensor \"a\", \"b\", \"a\" keep fp32\n", "tensor \"a\", \"b\" keep fp32\n"},
        Case{"Relu arg X keep fp32\nRelu arg 1 keep fp32\n", "Relu arg X keep fp32\n"},
        Case{"scope \"s\" { deny Exp deny Exp }\n", "scope \"s\" { deny Exp }\n"},
        Case{"override deny Tan\n", "deny Tan\n"}, Case{"override deny Tan, Exp\n", "override deny Tan, Exp\n"},
        Case{"  override  Relu arg X keep fp32\n", "  Relu arg X keep fp32\n"},
        Case{"override pattern p(x) { y = Exp(x) } low\n", "pattern p(x) { y = Exp(x) } low\n"},
        Case{"override extern com.acme::A(x: float) -> (y: float)\n", "extern com.acme::A(x: float) -> (y: float)\n"},
        Case{"import \"parts/lists.amp\"\nallow Softmax\n", "import \"parts/lists.amp\"\noverride allow Softmax\n"},
        Case{"import \"parts/lists.amp\"\nallow Softmax, Pow\n", "import \"parts/lists.amp\"\nallow Softmax, Pow\n"},
        Case{"import \"parts/sealed.amp\"\nallow Log\n", "import \"parts/sealed.amp\"\nallow Log\n"},
        Case{"import \"parts/extern.amp\"\nextern com.acme::Other(x: float) -> (y: float)\n",
             "import \"parts/extern.amp\"\noverride extern com.acme::Other(x: float) -> (y: float)\n"}));

TEST(FixFile, BeginsWithItsVersion) { EXPECT_EQ(mended("# rules\ndeny Softmx\n"), "amp 1\n# rules\ndeny Softmax\n"); }

TEST(Mend, EditsThatMeetAreRefused) {
  const auto one = [](std::uint32_t begin, std::uint32_t end, const char* text) {
    Diagnostic d;
    d.edit({0, begin, end}, text);
    return d;
  };
  const Diagnostic a = one(2, 5, "x"), b = one(4, 6, "y"), c = one(6, 6, "z"), d = one(6, 6, "w");
  Diagnostic other = one(0, 1, "q");
  other.edits.front().span.file = 1;
  const Mended result = mend("0123456789", 0, {&a, &b, &c, &d, &other});
  EXPECT_EQ(result.text, "01x5z6789");
  EXPECT_EQ(result.fixes, 2U);
  EXPECT_EQ(result.refused, 2U);
}

}  // namespace
}  // namespace ampc::lang
