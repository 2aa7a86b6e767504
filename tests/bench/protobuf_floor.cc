// What it costs to parse and serialise a model with protobuf and nothing else: the measure for the whole compiler. With
// `cast` every fp32 initializer becomes fp16 in between; the result is no valid model.
//
//   protobuf_floor MODEL OUT [cast]
#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "floor_cast.h"

namespace {

void cast(onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT || !tensor.has_raw_data()) return;
  const std::size_t count = tensor.raw_data().size() / 4;
  std::string low(count * 2, '\0');
  floor_cast(reinterpret_cast<const std::byte*>(tensor.raw_data().data()), reinterpret_cast<std::byte*>(low.data()),
             count);
  tensor.set_raw_data(std::move(low));
  tensor.set_data_type(onnx::TensorProto::FLOAT16);
}

}  // namespace

int main(int argc, char** argv) {
  const bool casts = argc == 4 && std::string_view(argv[3]) == "cast";
  if (argc != 3 && !casts) {
    std::fprintf(stderr, "usage: protobuf_floor MODEL OUT [cast]\n");
    return 2;
  }
  const int in = open(argv[1], O_RDONLY | O_CLOEXEC);
  if (in < 0) {
    std::perror(argv[1]);
    return 1;
  }
  onnx::ModelProto model;
  {
    google::protobuf::io::FileInputStream stream(in);
    if (!model.ParseFromZeroCopyStream(&stream)) {
      std::fprintf(stderr, "%s is no model\n", argv[1]);
      return 1;
    }
  }
  close(in);
  if (casts) {
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) cast(tensor);
  }
  const int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0 || !model.SerializeToFileDescriptor(out) || close(out) != 0) {
    std::perror(argv[2]);
    return 1;
  }
  return 0;
}
