// The nearest name.
#include <gtest/gtest.h>

#include "ampc/diag/suggest.h"

namespace ampc {
namespace {

TEST(EditDistance, CountsLettersButNotCase) {
  EXPECT_EQ(edit_distance("MatMul", "MatMul", 3), 0U);
  EXPECT_EQ(edit_distance("matmul", "MatMul", 3), 0U);
  EXPECT_EQ(edit_distance("MatMull", "MatMul", 3), 1U);
  EXPECT_EQ(edit_distance("MtaMul", "MatMul", 3), 1U);  // a swap
  EXPECT_EQ(edit_distance("", "abc", 3), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U);  // gives up
  EXPECT_EQ(edit_distance("a", "abcdef", 2), 3U);
}

TEST(Nearest, IsWhatWasMeant) {
  const std::vector<std::string> names = {"Exp",    "Conv", "ConvTranspose", "LayerNormalization",
                                          "MatMul", "Mul",  "Relu"};
  EXPECT_EQ(nearest("MatMull", names), "MatMul");
  EXPECT_EQ(nearest("matmul", names), "MatMul");
  EXPECT_EQ(nearest("LayerNormalisation", names), "LayerNormalization");
  EXPECT_EQ(nearest("LayerNorm", names), "LayerNormalization");
  EXPECT_EQ(nearest("Convolution", names), "Conv");
  EXPECT_EQ(nearest("Rulu", names), "Relu");
  EXPECT_EQ(nearest("Foo", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("Exp", names), std::nullopt);  // itself is no suggestion
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), std::nullopt);
}

TEST(Suggest, IsSureOfTheNameThatIsWrittenAlike) {
  const std::vector<std::string> names{"Sigmoid", "sigmoid", "Softmax", "Exp", "Expm"};
  const auto edit = [&](const std::string& word) {
    Diagnostic d;
    EXPECT_TRUE(suggest(d, word, names)) << word;
    return d.edits.empty() ? "" : d.edits.front().text;
  };
  EXPECT_EQ(edit("Sigmoidd"), "Sigmoid");
  EXPECT_EQ(edit("sigmoidd"), "sigmoid");
  EXPECT_EQ(edit("softmax"), "Softmax");
  EXPECT_EQ(edit("Expp"), "");  // two are as near
}

TEST(DidYouMean, IsASentenceOrNothing) {
  const std::vector<std::string> names = {"keep", "clamp"};
  EXPECT_EQ(did_you_mean("clmap", names), "did you mean 'clamp'?");
  EXPECT_EQ(did_you_mean("zzz", names), "");
}

TEST(ListOf, ReadsAloud) {
  EXPECT_EQ(list_of(std::vector<std::string>{}), "");
  EXPECT_EQ(list_of(std::vector<std::string>{"a"}), "'a'");
  EXPECT_EQ(list_of(std::vector<std::string>{"a", "b"}), "'a' or 'b'");
  EXPECT_EQ(list_of(std::vector<std::string>{"a", "b", "c"}, false, "and"), "a, b and c");
}

}  // namespace
}  // namespace ampc
