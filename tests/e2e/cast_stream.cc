// Casts standard input to standard output, for tests in other languages: cast_stream FROM TO [clamp], or
// cast_stream kernels for their names. AMPC_FORCE_KERNEL chooses one.
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "ampc/weights/caster.h"

namespace {

ampc::ElemType type_of(std::string_view name) {
  if (name == "fp16") return ampc::ElemType::float16;
  if (name == "bf16") return ampc::ElemType::bfloat16;
  if (name == "fp32") return ampc::ElemType::float32;
  if (name == "fp64") return ampc::ElemType::float64;
  return ampc::ElemType::undefined;
}

std::vector<std::byte> read_all() {
  std::vector<std::byte> bytes;
  std::byte chunk[1 << 16];
  while (const std::size_t got = std::fread(chunk, 1, sizeof(chunk), stdin))
    bytes.insert(bytes.end(), chunk, chunk + got);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "kernels") {
    for (const std::string_view name : ampc::weights::cpu_kernels()) {
      std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
    }
    return 0;
  }
  if (argc < 3) {
    std::fputs("usage: cast_stream FROM TO [clamp] | kernels\n", stderr);
    return 2;
  }
  try {
    const ampc::weights::Conversion conversion{type_of(argv[1]), type_of(argv[2]),
                                               argc > 3 && std::string_view(argv[3]) == "clamp"};
    const std::size_t from = ampc::byte_size(conversion.from);
    const std::vector<std::byte> source = read_all();
    const std::size_t count = from == 0 ? 0 : source.size() / from;
    std::vector<std::byte> target(count * ampc::byte_size(conversion.to));
    ampc::weights::cast_parallel(ampc::weights::cpu_caster(), conversion, source.data(), target.data(), count);
    return std::fwrite(target.data(), 1, target.size(), stdout) == target.size() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cast_stream: %s\n", error.what());
    return 1;
  }
}
