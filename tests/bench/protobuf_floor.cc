// What it costs to parse and serialise a model with protobuf and nothing else: the measure for the whole compiler.
//
//   protobuf_floor MODEL OUT
#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: protobuf_floor MODEL OUT\n");
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
  const int out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0 || !model.SerializeToFileDescriptor(out) || close(out) != 0) {
    std::perror(argv[2]);
    return 1;
  }
  return 0;
}
