#include "ampc/model/schemas.h"

#include <gtest/gtest.h>

namespace ampc {
namespace {

const Signature& at(std::string_view op, int version, std::string_view domain = "") {
  const Signature* s = Schemas::get().find(domain, op, version);
  EXPECT_NE(s, nullptr) << op << " " << version;
  return *s;
}

bool admits(const Signature& s, std::size_t operand, ElemType t) { return s.input(operand)->elems.contains(t); }

// The gates that the frameworks' lists are tested against (R4), as onnx 1.23.2 has them.
TEST(Schemas, GatesOfBf16) {
  struct Gate {
    const char* op;
    std::size_t operand;
    int before, from;
  };
  for (const auto& [op, operand, before, from] : std::initializer_list<Gate>{{"Conv", 0, 21, 22},
                                                                             {"MaxPool", 0, 21, 22},
                                                                             {"LSTM", 0, 21, 22},
                                                                             {"TopK", 0, 23, 24},
                                                                             {"Range", 0, 26, 27},
                                                                             {"Einsum", 0, 27, 28},
                                                                             {"MatMul", 0, 12, 13}}) {
    EXPECT_FALSE(admits(at(op, before), operand, ElemType::bfloat16)) << op;
    EXPECT_TRUE(admits(at(op, from), operand, ElemType::bfloat16)) << op;
  }
}

TEST(Schemas, FixedOperandsHaveNoVariable) {
  const Signature& resize = at("Resize", 19);
  EXPECT_NE(resize.input(0)->type_var, kNoTypeVar);
  EXPECT_EQ(resize.input(2)->name, "scales");
  EXPECT_EQ(resize.input(2)->type_var, kNoTypeVar);
  EXPECT_FALSE(admits(resize, 2, ElemType::float16));
}

TEST(Schemas, BatchNormalizationSplitsItsVariablesAt15) {
  const Signature &tied = at("BatchNormalization", 14), &split = at("BatchNormalization", 15);
  EXPECT_EQ(tied.input(0)->type_var, tied.input(1)->type_var);
  EXPECT_NE(split.input(0)->type_var, split.input(1)->type_var);
  EXPECT_NE(split.input(1)->type_var, split.input(3)->type_var);
  EXPECT_EQ(split.output(0)->type_var, split.input(0)->type_var);
}

TEST(Schemas, VariablesThatNoOperandBinds) {
  const Signature& norm = at("LayerNormalization", 17);
  EXPECT_TRUE(norm.type_vars[static_cast<std::size_t>(norm.output(0)->type_var)].bound_by_input);
  EXPECT_FALSE(norm.type_vars[static_cast<std::size_t>(norm.output(1)->type_var)].bound_by_input);
}

TEST(Schemas, VariadicOperandsRepeat) {
  const Signature& concat = at("Concat", 13);
  EXPECT_EQ(concat.input(0), concat.input(40));
  EXPECT_EQ(at("Relu", 14).input(1), nullptr);
}

TEST(Schemas, NamesOfDomains) {
  EXPECT_EQ(Schemas::get().find("ai.onnx", "Relu", 17), Schemas::get().find("", "Relu", 17));
  EXPECT_TRUE(Schemas::get().has_domain("ai.onnx.ml"));
  EXPECT_FALSE(Schemas::get().has_domain("com.microsoft"));
  EXPECT_EQ(Schemas::get().find("", "LayerNormalization", 16), nullptr);
  EXPECT_EQ(Schemas::get().newest(""), 28);
  EXPECT_EQ(Schemas::get().newest("com.microsoft"), 0);
}

TEST(Schemas, DefaultsOfAttributes) {
  const AttrFormal* axis = at("Gather", 13).attribute("axis");
  ASSERT_NE(axis, nullptr);
  EXPECT_TRUE(axis->has_default);
  EXPECT_EQ(axis->number, 0);
  EXPECT_EQ(at("Gather", 13).attribute("axes"), nullptr);
}

}  // namespace
}  // namespace ampc
