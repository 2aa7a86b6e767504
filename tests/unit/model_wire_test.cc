#include "ampc/model/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "onnx/onnx_pb.h"

namespace ampc {
namespace {

wire::Bytes bytes(const std::string& s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }

onnx::TensorProto tensor(const std::string& name, std::size_t size, char fill) {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(static_cast<std::int64_t>(size / 4));
  t.set_raw_data(std::string(size, fill));
  return t;
}

/// Weights in every place where a model can have them, large and small.
onnx::ModelProto model() {
  onnx::ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(17);
  auto* g = m.mutable_graph();
  *g->add_initializer() = tensor("small", 64, 's');
  *g->add_initializer() = tensor("large", 8192, 'l');
  *g->add_sparse_initializer()->mutable_values() = tensor("sparse", 4096, 'p');
  auto* constant = g->add_node();
  constant->set_op_type("Constant");
  auto* value = constant->add_attribute();
  value->set_name("value");
  *value->mutable_t() = tensor("", 2048, 'c');
  auto* branch = g->add_node();
  branch->set_op_type("If");
  auto* body = branch->add_attribute();
  body->set_name("then_branch");
  *body->mutable_g()->add_initializer() = tensor("inner", 1024, 'i');
  auto* f = m.add_functions();
  f->set_name("f");
  auto* attribute = f->add_node()->add_attribute();
  attribute->set_name("value");
  *attribute->mutable_t() = tensor("", 1500, 'f');
  return m;
}

/// What a writer makes of a layout, with every payload as `content(index)`.
std::string written(const std::string& skeleton, const wire::Layout& layout,
                    const std::function<std::string(std::uint64_t)>& content) {
  std::string out(layout.size, '?');
  for (const wire::Piece& p : layout.pieces) {
    const std::string text = p.kind == wire::Piece::Kind::skeleton  ? skeleton.substr(p.begin, p.size)
                             : p.kind == wire::Piece::Kind::lengths ? layout.lengths.substr(p.begin, p.size)
                                                                    : content(p.begin);
    EXPECT_EQ(text.size(), p.size);
    out.replace(p.offset, p.size, text);
  }
  return out;
}

TEST(Wire, LargePayloadsAreCutAndSmallOnesStay) {
  const std::string file = model().SerializeAsString();
  std::vector<wire::Bytes> payloads;
  const std::string skeleton = wire::cut(bytes(file), payloads);
  std::vector<std::size_t> sizes;
  sizes.reserve(payloads.size());
  for (const auto& p : payloads) sizes.push_back(p.size());
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(8192, 4096, 2048, 1024, 1500));
  EXPECT_LT(skeleton.size(), std::size_t{1000});
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(skeleton));
  EXPECT_EQ(parsed.graph().initializer(0).raw_data(), std::string(64, 's'));
  const auto index = wire::marker_index(parsed.graph().initializer(1).raw_data());
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(payloads[*index].size(), std::size_t{8192});
  EXPECT_EQ(static_cast<char>(payloads[*index][0]), 'l');
}

TEST(Wire, CutAndLaidOutAgainIsTheSameModel) {
  const onnx::ModelProto original = model();
  const std::string file = original.SerializeAsString();
  std::vector<wire::Bytes> payloads;
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(wire::cut(bytes(file), payloads)));
  const std::string skeleton = parsed.SerializeAsString();
  const auto layout = wire::lay_out(skeleton, [&](std::uint64_t i) { return payloads[i].size(); });
  const std::string again = written(skeleton, layout, [&](std::uint64_t i) {
    return std::string(reinterpret_cast<const char*>(payloads[i].data()), payloads[i].size());
  });
  EXPECT_EQ(again, file);
}

TEST(Wire, EnclosingLengthsFollowThePayloadsNewSizes) {
  const std::string file = model().SerializeAsString();
  std::vector<wire::Bytes> payloads;
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(wire::cut(bytes(file), payloads)));
  const std::string skeleton = parsed.SerializeAsString();
  for (const std::uint64_t size : {0ULL, 1ULL, 127ULL, 128ULL, 20000ULL, 3000000ULL}) {
    const auto layout = wire::lay_out(skeleton, [&](std::uint64_t) { return size; });
    const std::string text = written(skeleton, layout, [&](std::uint64_t) { return std::string(size, 'n'); });
    onnx::ModelProto back;
    ASSERT_TRUE(back.ParseFromString(text)) << size;
    EXPECT_EQ(back.graph().initializer(1).raw_data(), std::string(size, 'n'));
    EXPECT_EQ(back.graph().node(1).attribute(0).g().initializer(0).raw_data(), std::string(size, 'n'));
    EXPECT_EQ(back.functions(0).node(0).attribute(0).t().raw_data(), std::string(size, 'n'));
  }
}

TEST(Wire, TruncationIsNoticedAtEveryByte) {
  const std::string file = model().SerializeAsString();
  std::size_t noticed = 0, tried = 0;
  for (std::size_t size = 1; size < file.size(); size += 7) {
    ++tried;
    std::vector<wire::Bytes> payloads;
    const std::string part = file.substr(0, size);
    try {
      onnx::ModelProto parsed;
      // Cut off between two fields of the model itself, what is left is a message all the same.
      if (!parsed.ParseFromString(wire::cut(bytes(part), payloads)) || parsed.SerializeAsString().size() < size)
        ++noticed;
    } catch (const wire::Malformed& e) {
      EXPECT_LE(e.offset, size);
      ++noticed;
    }
  }
  EXPECT_GE(noticed + 5, tried);
}

TEST(Wire, MessagesNestedWithoutEndAreRefused) {
  // A graph in an attribute of a node of a graph, 5,000 deep.
  onnx::ModelProto m;
  std::string inner(2000, 'x');
  const auto wrap = [](char tag, const std::string& body) {
    std::string out(1, tag);
    std::size_t n = body.size();
    for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>(n | 0x80));
    out.push_back(static_cast<char>(n));
    return out + body;
  };
  inner = wrap('\x12', inner);                                                             // GraphProto.name
  for (int i = 0; i < 1700; ++i) inner = wrap('\x0a', wrap('\x2a', wrap('\x32', inner)));  // node { attribute { g } }
  const std::string file = wrap('\x3a', inner);
  std::vector<wire::Bytes> payloads;
  EXPECT_THROW(wire::cut(bytes(file), payloads), wire::Malformed);
}

TEST(Wire, OnlyMarkersAreMarkers) {
  EXPECT_EQ(wire::marker_index(wire::marker(7)), std::optional<std::uint64_t>(7));
  EXPECT_EQ(wire::marker_index(""), std::nullopt);
  EXPECT_EQ(wire::marker_index(wire::marker(7) + "x"), std::nullopt);
  EXPECT_EQ(wire::marker_index(std::string(16, '\0')), std::nullopt);
}

}  // namespace
}  // namespace ampc
