// What a device can do beside the CPU and beside the copies that no cast on it can be faster than. tests/bench/gpu.sh
// calls it.
//
//   gpu_rates            prints GB/s of sources, fp32 to fp16, memory to memory
//   gpu_rates model OUT LAYERS WIDTH
//                        writes a model of LAYERS square products to OUT and its weights to OUT.weights
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include "onnx/onnx_pb.h"

#include "ampc/weights/caster.h"
#include "ampc/weights/device.h"
#include "ampc/weights/device_pipeline.h"

namespace {

using ampc::ElemType;
using ampc::weights::cast_parallel;
using ampc::weights::Conversion;
using ampc::weights::cpu_caster;
using ampc::weights::cuda_devices;
using ampc::weights::Device;
using ampc::weights::DeviceError;
using ampc::weights::DevicePipeline;
using ampc::weights::DeviceTask;
using ampc::weights::DeviceWork;
using ampc::weights::Stats;

constexpr Conversion kFp16{ElemType::float32, ElemType::float16, false};
constexpr std::size_t kMemory = std::size_t{2} << 30;
constexpr std::size_t kLane = std::size_t{32} << 20;
constexpr std::size_t kPart = std::size_t{1} << 20;  // elements a task has, as the program makes them
constexpr int kRuns = 5;

/// The median of some runs of `work`, in GB/s of `bytes`; one more goes before them.
template <class Work>
double rate(double bytes, Work&& work) {
  std::vector<double> rates;
  for (int i = 0; i <= kRuns; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (i != 0) rates.push_back(bytes / seconds.count() / 1e9);
  }
  std::nth_element(rates.begin(), rates.begin() + kRuns / 2, rates.end());
  return rates[kRuns / 2];
}

void print(const std::string& what, double gigabytes) { fmt::print("{:<58}{:>8.1f} GB/s\n", what, gigabytes); }

std::vector<std::byte> ordinary_weights(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  tbb::parallel_for(std::size_t{0}, bytes / sizeof(float), kPart, [&](std::size_t begin) {
    for (std::size_t i = begin; i < std::min(begin + kPart, bytes / sizeof(float)); ++i) {
      const auto step = static_cast<float>((i * 2654435761U) % 65536U);
      const float value = (step - 32768.0F) / 1048576.0F;
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
  });
  return out;
}

class MemoryToMemory final : public DeviceWork {
 public:
  MemoryToMemory(const std::vector<std::byte>& source, std::vector<std::byte>& target)
      : source_(source), target_(target) {}
  void load(std::size_t id, std::span<std::byte> into) override {
    std::memcpy(into.data(), source_.data() + id * kPart * 4, into.size());
  }
  void store(std::size_t id, std::span<const std::byte> result, const Stats& /*stats*/) override {
    std::memcpy(target_.data() + id * kPart * 2, result.data(), result.size());
  }

 private:
  const std::vector<std::byte>& source_;
  std::vector<std::byte>& target_;
};

void copies(Device& device) {
  const auto lane = device.open(kLane, kLane);
  const auto other = device.open(kLane, kLane);
  const int repeats = 16;  // no more than a lane counts casts of
  const double bytes = static_cast<double>(kLane) * repeats;
  const auto all = [&](auto&& queue) {
    return rate(bytes, [&] {
      for (int i = 0; i < repeats; ++i) queue();
      lane->wait();
      other->wait();
    });
  };
  print("copy limit, host to device", all([&] { lane->upload(kLane); }));
  print("copy limit, device to host", all([&] { lane->download(kLane); }));
  print("copy limit, to the device and half of it back at once", all([&] {
          lane->upload(kLane);
          other->download(kLane / 2);
        }));
  print("kernel alone, fp32 to fp16 with statistics", all([&] { lane->cast(kFp16, 0, 0, kLane / 4); }));
}

int rates() {
  std::vector<std::unique_ptr<Device>> devices;
  const auto begin = std::chrono::steady_clock::now();
  try {
    devices = cuda_devices();
  } catch (const DeviceError& e) {
    fmt::print("skipped: no CUDA device: {}\n", e.what());
    return 77;
  }
  const std::chrono::duration<double> start = std::chrono::steady_clock::now() - begin;
  const int threads = tbb::this_task_arena::max_concurrency();
  fmt::print("{} device(s), the first {}; {} threads; {:.2f} s to start\n", devices.size(), devices.front()->name(),
             threads, start.count());
  copies(*devices.front());

  const std::vector<std::byte> source = ordinary_weights(kMemory);
  std::vector<std::byte> target(kMemory / 2);
  std::vector<std::byte> copy(kMemory);
  std::vector<DeviceTask> tasks;
  for (std::size_t at = 0; at < kMemory / 4; at += kPart) tasks.push_back({tasks.size(), kFp16, kPart});
  MemoryToMemory work(source, target);
  DevicePipeline pipeline(devices);
  print(fmt::format("devices, memory to memory, {} threads", threads),
        rate(kMemory, [&] { (void)pipeline.run(tasks, work); }));
  for (const std::string& fault : pipeline.faults()) fmt::print("a device failed: {}\n", fault);
  tbb::task_arena one(1);
  one.execute(
      [&] { print("devices, memory to memory, 1 thread", rate(kMemory, [&] { (void)pipeline.run(tasks, work); })); });
  const std::vector<std::byte> from_device = target;
  const auto cpu = [&] { cast_parallel(cpu_caster(), kFp16, source.data(), target.data(), kMemory / 4); };
  print(fmt::format("CPU ({}), memory to memory, {} threads", cpu_caster().name(), threads), rate(kMemory, cpu));
  if (from_device != target) {
    fmt::print("the device's bytes are not the CPU's\n");
    return 1;
  }
  one.execute(
      [&] { print(fmt::format("CPU ({}), memory to memory, 1 thread", cpu_caster().name()), rate(kMemory, cpu)); });
  print("memcpy of the sources, 1 thread", rate(kMemory, [&] { std::memcpy(copy.data(), source.data(), kMemory); }));
  return 0;
}

int write_model(const std::string& path, int layers, int width) {
  onnx::ModelProto model;
  model.set_ir_version(9);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("products");
  const auto interface_value = [&](onnx::ValueInfoProto& info, const std::string& name) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_value(1);
    type->mutable_shape()->add_dim()->set_dim_value(width);
  };
  interface_value(*graph.add_input(), "x0");
  interface_value(*graph.add_output(), fmt::format("x{}", layers));
  const std::size_t bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(width) * sizeof(float);
  const std::vector<std::byte> weights = ordinary_weights(bytes);
  std::ofstream data(path + ".weights", std::ios::binary);
  for (int i = 0; i < layers; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("MatMul");
    node.add_input(fmt::format("x{}", i));
    node.add_input(fmt::format("w{}", i));
    node.add_output(fmt::format("x{}", i + 1));
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(fmt::format("w{}", i));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(width);
    tensor.add_dims(width);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto set = [&](const char* key, const std::string& value) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    set("location", path.substr(path.rfind('/') + 1) + ".weights");
    set("offset", std::to_string(bytes * static_cast<std::size_t>(i)));
    set("length", std::to_string(bytes));
    data.write(reinterpret_cast<const char*>(weights.data()), static_cast<std::streamsize>(bytes));
  }
  std::ofstream out(path, std::ios::binary);
  return model.SerializeToOstream(&out) && out.flush() && data.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 4 && args[0] == "model") return write_model(args[1], std::stoi(args[2]), std::stoi(args[3]));
  if (args.empty()) return rates();
  std::fputs("usage: gpu_rates [model OUT LAYERS WIDTH]\n", stderr);
  return 2;
}
