// Throughput of the cast and statistics kernels, beside memcpy of the same source bytes. bytes_per_second counts the
// source. Two sizes: one that stays in cache, one that comes from memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "ampc/weights/caster.h"

namespace {

using ampc::ElemType;
using ampc::weights::Caster;
using ampc::weights::Conversion;

constexpr std::size_t kCached = std::size_t{64} << 10;
constexpr std::size_t kMemory = std::size_t{256} << 20;

/// Weights as a trained model has them, near enough: normal, small.
template <class T>
std::vector<std::byte> weights(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  std::vector<T> period(std::min<std::size_t>(bytes / sizeof(T), 1U << 16));
  std::mt19937 random(1);
  std::normal_distribution<T> normal(T{0}, T{1} / T{32});
  for (T& value : period) value = normal(random);
  for (std::size_t at = 0; at < bytes; at += period.size() * sizeof(T)) {
    std::memcpy(out.data() + at, period.data(), std::min(bytes - at, period.size() * sizeof(T)));
  }
  return out;
}

std::vector<std::byte> source_of(ElemType type, std::size_t bytes) {
  return type == ElemType::float64 ? weights<double>(bytes) : weights<float>(bytes);
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes));
}

void copy(benchmark::State& state, std::size_t bytes) {
  const auto source = source_of(ElemType::float32, bytes);
  std::vector<std::byte> target(bytes);
  while (state.KeepRunning()) {
    std::memcpy(target.data(), source.data(), bytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, bytes);
}

void cast(benchmark::State& state, Caster* caster, Conversion conversion, std::size_t bytes) {
  const auto source = source_of(conversion.from, bytes);
  const std::size_t count = bytes / ampc::byte_size(conversion.from);
  std::vector<std::byte> target(count * ampc::byte_size(conversion.to));
  while (state.KeepRunning()) {
    caster->cast(conversion, source.data(), target.data(), count);
    benchmark::ClobberMemory();
  }
  count_bytes(state, bytes);
}

void cast_threads(benchmark::State& state, Conversion conversion, std::size_t bytes) {
  const auto source = source_of(conversion.from, bytes);
  const std::size_t count = bytes / ampc::byte_size(conversion.from);
  std::vector<std::byte> target(count * ampc::byte_size(conversion.to));
  while (state.KeepRunning()) {
    cast_parallel(ampc::weights::cpu_caster(), conversion, source.data(), target.data(), count);
    benchmark::ClobberMemory();
  }
  count_bytes(state, bytes);
}

void measure(benchmark::State& state, Caster* caster, Conversion conversion, std::size_t bytes) {
  const auto source = source_of(conversion.from, bytes);
  const std::size_t count = bytes / ampc::byte_size(conversion.from);
  while (state.KeepRunning()) benchmark::DoNotOptimize(caster->measure(conversion, source.data(), count));
  count_bytes(state, bytes);
}

void cast_measured(benchmark::State& state, Caster* caster, Conversion conversion, std::size_t bytes) {
  const auto source = source_of(conversion.from, bytes);
  const std::size_t count = bytes / ampc::byte_size(conversion.from);
  std::vector<std::byte> target(count * ampc::byte_size(conversion.to));
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(caster->cast_measured(conversion, source.data(), target.data(), count));
    benchmark::ClobberMemory();
  }
  count_bytes(state, bytes);
}

struct Named {
  const char* name;
  Conversion conversion;
};

}  // namespace

int main(int argc, char** argv) {
  const Named kinds[] = {
      {"fp32_fp16", {ElemType::float32, ElemType::float16, false}},
      {"fp32_fp16_clamp", {ElemType::float32, ElemType::float16, true}},
      {"fp32_bf16", {ElemType::float32, ElemType::bfloat16, false}},
      {"fp64_fp16", {ElemType::float64, ElemType::float16, false}},
      {"fp64_bf16", {ElemType::float64, ElemType::bfloat16, false}},
  };
  const std::pair<const char*, std::size_t> sizes[] = {{"cache", kCached}, {"memory", kMemory}};
  const auto add = []([[maybe_unused]] const std::string& name, [[maybe_unused]] auto&& function) {
#ifndef __clang_analyzer__  // which takes what the library keeps for a leak
    benchmark::RegisterBenchmark(name.c_str(), function)->UseRealTime();
#endif
  };
  for (const auto& [size_name, bytes] : sizes) {
    const std::size_t size = bytes;
    add(fmt::format("memcpy/{}", size_name), [size](benchmark::State& s) { copy(s, size); });
    for (const Named& kind : kinds) {
      const Conversion conversion = kind.conversion;
      for (const std::string_view kernel : ampc::weights::cpu_kernels()) {
        Caster* caster = ampc::weights::cpu_kernel(kernel);
        const std::string tail = fmt::format("{}/{}/{}", kernel, kind.name, size_name);
        add(fmt::format("cast/{}", tail), [=](benchmark::State& s) { cast(s, caster, conversion, size); });
        add(fmt::format("cast_measured/{}", tail),
            [=](benchmark::State& s) { cast_measured(s, caster, conversion, size); });
        if (!conversion.clamp)
          add(fmt::format("measure/{}", tail), [=](benchmark::State& s) { measure(s, caster, conversion, size); });
      }
    }
  }
  const Conversion fp16 = kinds[0].conversion;
  add("cast_parallel/fp32_fp16/memory", [fp16](benchmark::State& s) { cast_threads(s, fp16, kMemory); });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
