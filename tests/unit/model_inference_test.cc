// onnx's inference functions, asked about one node.
#include "ampc/model/node_inference.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

#include "ampc/diag/diagnostic.h"
#include "ampc/model/model.h"

namespace ampc {
namespace {

TEST(NodeInference, AnOperandOfUnknownTypeHasAnEmptyOne) {
  onnx::ModelProto proto;
  // RegexFullMatch's function reads its operand's type without a look whether there is one.
  onnx::OnnxParser parser(R"(<ir_version: 10, opset_import: ["" : 20, "com.acme" : 1]>
    g (string[3] x) => (bool[3] y) { words = com.acme.Words (x)  y = RegexFullMatch <pattern = "a"> (words) })");
  ASSERT_TRUE(parser.Parse(proto).IsOK());
  const std::string path =
      (std::filesystem::temp_directory_path() / ("ampc_inference_" + std::to_string(::getpid()) + ".onnx")).string();
  std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
  Diagnostics diagnostics;
  const auto model = read_model(path, diagnostics);
  std::filesystem::remove(path);
  ASSERT_NE(model, nullptr);
  const auto types = infer_node(*model, 1, *model->nodes[1].proto, [](ValueId) { return ElemType::undefined; });
  ASSERT_EQ(types.size(), 1U);
  EXPECT_EQ(types[0].type, ElemType::boolean);
}

}  // namespace
}  // namespace ampc
