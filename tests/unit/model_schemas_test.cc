#include "ampc/model/schemas.h"

#include <gtest/gtest.h>

#include "onnx/defs/schema.h"

#include "ampc/model/onnx_registry.h"
#include "ampc/model/schema_facts.h"

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

void expect_same(const std::vector<Formal>& table, const std::vector<Formal>& library, const std::string& what) {
  ASSERT_EQ(table.size(), library.size()) << what;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Formal &a = table[i], &b = library[i];
    EXPECT_EQ(a.name, b.name) << what;
    EXPECT_EQ(a.type_var, b.type_var) << what << ' ' << a.name;
    EXPECT_EQ(a.elems, b.elems) << what << ' ' << a.name;
    EXPECT_EQ(a.tensor_only, b.tensor_only) << what << ' ' << a.name;
    EXPECT_EQ(a.optional, b.optional) << what << ' ' << a.name;
    EXPECT_EQ(a.variadic, b.variadic) << what << ' ' << a.name;
    EXPECT_EQ(a.homogeneous, b.homogeneous) << what << ' ' << a.name;
  }
}

TEST(Schemas, TheTableIsWhatTheLibrarySays) {
  std::size_t seen = 0;
  onnx_registry::for_each([&](const onnx::OpSchema& schema) {
    ++seen;
    const Signature library = signature_of(schema);
    const std::string what = library.domain + "::" + library.name + "-" + std::to_string(library.since_version);
    const Signature* table = Schemas::get().find(library.domain, library.name, library.since_version);
    ASSERT_NE(table, nullptr) << what;
    EXPECT_EQ(table->since_version, library.since_version) << what;
    EXPECT_EQ(table->deprecated, library.deprecated) << what;
    expect_same(table->inputs, library.inputs, what);
    expect_same(table->outputs, library.outputs, what);
    ASSERT_EQ(table->type_vars.size(), library.type_vars.size()) << what;
    for (std::size_t i = 0; i < library.type_vars.size(); ++i) {
      EXPECT_EQ(table->type_vars[i].name, library.type_vars[i].name) << what;
      EXPECT_EQ(table->type_vars[i].elems, library.type_vars[i].elems) << what;
      EXPECT_EQ(table->type_vars[i].bound_by_input, library.type_vars[i].bound_by_input) << what;
    }
    ASSERT_EQ(table->attributes.size(), library.attributes.size()) << what;
    for (std::size_t i = 0; i < library.attributes.size(); ++i) {
      const AttrFormal &a = table->attributes[i], &b = library.attributes[i];
      EXPECT_EQ(a.name, b.name) << what;
      EXPECT_EQ(a.kind, b.kind) << what << ' ' << a.name;
      EXPECT_EQ(a.required, b.required) << what << ' ' << a.name;
      EXPECT_EQ(a.has_default, b.has_default) << what << ' ' << a.name;
      EXPECT_EQ(a.number, b.number) << what << ' ' << a.name;
      EXPECT_EQ(a.text, b.text) << what << ' ' << a.name;
    }
  });
  EXPECT_GT(seen, 600U);
}

TEST(OnnxRegistry, RegistersWhatIsAskedFor) {
  const Signature& relu = at("Relu", 14);
  const onnx::OpSchema* schema = onnx_registry::find(relu);
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->SinceVersion(), 14);
  Signature none = relu;
  none.name = "Nothing";
  EXPECT_EQ(onnx_registry::find(none), nullptr);
}

TEST(ElemTypes, NamesAreReadBack) {
  for (unsigned t = 1; t <= static_cast<unsigned>(ElemType::int2); ++t) {
    const auto type = static_cast<ElemType>(t);
    EXPECT_NE(short_name(type), "other");
    EXPECT_EQ(elem_type(short_name(type)), type);
  }
  EXPECT_EQ(elem_type("float"), ElemType::float32);
  EXPECT_EQ(elem_type("bfloat16"), ElemType::bfloat16);
  EXPECT_EQ(elem_type("double"), ElemType::float64);
  EXPECT_EQ(elem_type("half"), ElemType::undefined);
}

}  // namespace
}  // namespace ampc
