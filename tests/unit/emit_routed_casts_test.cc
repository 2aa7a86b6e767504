// An output file whose weights are cast on a device has the bytes that the CPU gives it, whatever the device does.
#include "ampc/emit/routed_casts.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/diagnostic.h"
#include "ampc/emit/data_file.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/model/tensors.h"
#include "fake_device.h"
#include "memory_work.h"

namespace ampc::emit {
namespace {

namespace fs = std::filesystem;
using weights::CastOn;
using weights::CastRouter;
using weights::test::Call;
using weights::test::FakeDevice;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class RoutedCastsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("ampc_routed_") + test->name());
    fs::create_directories(folder_);
    onnx::ModelProto model;
    model.set_ir_version(9);
    model.add_opset_import()->set_version(17);
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("g");
    // Some larger than a part, some that share one, odd ones, one that is too small for a device.
    for (const int count : {1'500'000, 40'000, 33'333, 2'000'001, 300, 1'048'576}) {
      onnx::TensorProto& t = *graph.add_initializer();
      t.set_name("w" + std::to_string(graph.initializer_size()));
      const bool wide = count == 1'048'576;
      t.set_data_type(wide ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
      t.add_dims(count);
      std::string raw(static_cast<std::size_t>(count) * (wide ? 8 : 4), '\0');
      std::uint32_t state = static_cast<std::uint32_t>(count);
      for (char& c : raw) {
        state = state * 1664525U + 1013904223U;
        c = static_cast<char>(state >> 24);
      }
      t.set_raw_data(std::move(raw));
    }
    std::ofstream(folder_ / "in.onnx", std::ios::binary) << model.SerializeAsString();
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// The output's bytes, data file included; `progress_` becomes the bytes that were reported.
  std::string compile(CastRouter& router, bool external) {
    Diagnostics diagnostics;
    const auto model = read_model((folder_ / "in.onnx").string(), diagnostics);
    EXPECT_NE(model, nullptr);
    WeightJobs jobs(*model);
    int index = 0;
    for (onnx::TensorProto& t : *model->proto->mutable_graph()->mutable_initializer()) {
      if (++index == 3) continue;  // one that stays as it is
      const bool back = index == 2;
      const ElemType low = index % 2 == 0 ? ElemType::float16 : ElemType::bfloat16;
      const auto type = static_cast<ElemType>(t.data_type());
      const WeightJob job{tensors::bytes_of(*model, t), true, {type, low, index == 4}, back};
      t.set_data_type(static_cast<int>(back ? ElemType::float32 : low));
      t.set_raw_data(wire::marker(jobs.add(job)));
    }
    jobs.keep_stats();
    std::atomic<std::uint64_t> done{0};
    const auto progress = [&](std::uint64_t bytes) { done += bytes; };
    std::string result;
    std::uint64_t expected = 0;
    if (external) {
      const DataLayout data = externalise(*model, jobs, "out.onnx.data", kDataThreshold);
      OutputFile file((folder_ / "out.onnx.data").string());
      write_data(data, jobs, file, router, progress);
      for (const auto& p : data.pieces) expected += p.size;
      file.commit();
      result = content(folder_ / "out.onnx.data");
    }
    const Image image = image_of(*model, jobs);
    OutputFile file((folder_ / "out.onnx").string());
    write_image(image, jobs, file, router, progress);
    file.commit();
    EXPECT_EQ(done, expected + image.layout.size);
    // What was found in the sources is known of all that went where the router said.
    for (std::uint64_t i = 0; i < jobs.size(); ++i) {
      const WeightJob& job = jobs.at(i);
      if (!job.cast || job.back || job.size() < 65536) continue;
      const std::size_t count = job.source.size() / byte_size(job.conversion.from);
      EXPECT_TRUE(
          weights::test::same(jobs.stats(i), weights::cpu_caster().measure(job.conversion, job.source.data(), count)));
    }
    return result + content(folder_ / "out.onnx");
  }

  fs::path folder_;
};

TEST_F(RoutedCastsTest, AreTheCpusWhateverTheDeviceDoes) {
  for (const bool external : {false, true}) {
    CastRouter cpu(CastOn::cpu);
    const std::string want = compile(cpu, external);
    for (const Call call : {Call::open, Call::upload, Call::cast, Call::download, Call::wait}) {
      for (const int n : {0, 1, 3}) {
        FakeDevice* device = nullptr;
        CastRouter router(CastOn::cuda, [&] {
          std::vector<std::unique_ptr<weights::Device>> devices;
          devices.push_back(std::make_unique<FakeDevice>());
          device = static_cast<FakeDevice*>(devices.back().get());
          device->fail(call, n);
          return devices;
        });
        EXPECT_TRUE(compile(router, external) == want) << static_cast<int>(call) << " " << n;
        ASSERT_NE(device, nullptr);
        EXPECT_EQ(router.faults().empty(), n == 0);
        // What is large and cast, and nothing else, goes there.
        const auto casts = std::count_if(device->events().begin(), device->events().end(),
                                         [](const auto& e) { return e.call == Call::cast; });
        EXPECT_TRUE(n != 0 || casts == 3 + 4 + 2) << casts;
      }
    }
  }
}

TEST_F(RoutedCastsTest, WithoutADeviceTheCpuDoesAll) {
  CastRouter cpu(CastOn::cpu);
  const std::string want = compile(cpu, false);
  CastRouter none(CastOn::cuda, []() -> std::vector<std::unique_ptr<weights::Device>> {
    throw weights::DeviceError("there is none");
  });
  EXPECT_TRUE(compile(none, false) == want);
  EXPECT_THAT(none.faults(), testing::ElementsAre("there is none"));
  CastRouter automatic(CastOn::automatic, []() -> std::vector<std::unique_ptr<weights::Device>> {
    throw weights::DeviceError("not to be asked for so little");
  });
  EXPECT_TRUE(compile(automatic, true).size() > want.size());
  EXPECT_THAT(automatic.faults(), testing::IsEmpty());
}

}  // namespace
}  // namespace ampc::emit
