#include "ampc/emit/data_file.h"

#include <map>
#include <tuple>

#include "onnx/onnx_pb.h"

#include "ampc/emit/file_tasks.h"
#include "ampc/emit/routed_casts.h"
#include "ampc/model/tensors.h"

namespace ampc::emit {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSmallAlignment = 64;  // a cache line

std::uint64_t aligned(std::uint64_t at, std::uint64_t size) {
  const std::uint64_t to = size >= kPage ? kPage : kSmallAlignment;
  return (at + to - 1) / to * to;
}

void set(onnx::TensorProto& t, const char* key, std::string value) {
  auto* entry = t.add_external_data();
  entry->set_key(key);
  entry->set_value(std::move(value));
}

}  // namespace

DataLayout externalise(Model& m, const WeightJobs& jobs, const std::string& location, std::uint64_t threshold) {
  DataLayout layout;
  using Key = std::tuple<const std::byte*, std::size_t, bool, bool, ElemType, ElemType, bool>;
  std::map<Key, std::uint64_t> places;
  tensors::for_each(*m.proto, [&](onnx::TensorProto& t) {
    if (!t.has_raw_data()) return;
    const auto index = wire::marker_index(t.raw_data());
    if (!index) return;
    const WeightJob& job = jobs.at(*index);
    if (job.size() < threshold) return;
    const auto& c = job.conversion;
    const Key key{job.source.data(), job.source.size(), job.cast, job.back, c.from, c.to, c.clamp};
    const auto [place, fresh] = places.try_emplace(key, aligned(layout.size, job.size()));
    if (fresh) {
      layout.pieces.push_back({*index, place->second, job.size()});
      layout.size = place->second + job.size();
    }
    t.clear_raw_data();
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    set(t, "location", location);
    set(t, "offset", std::to_string(place->second));
    set(t, "length", std::to_string(job.size()));
  });
  return layout;
}

void relocate(onnx::ModelProto& model, const std::string& from, const std::string& to) {
  tensors::for_each(model, [&](onnx::TensorProto& t) {
    for (auto& entry : *t.mutable_external_data()) {
      if (entry.key() == "location" && entry.value() == from) entry.set_value(to);
    }
  });
}

void write_data(const DataLayout& layout, const WeightJobs& jobs, OutputFile& file, weights::CastRouter& router,
                const std::function<void(std::uint64_t)>& progress) {
  file.set_size(layout.size);
  RoutedCasts routed(jobs, router, file, progress);
  std::vector<DataLayout::Piece> tasks;  // `size` bytes from `offset` on; the piece begins at `starts[i]`
  std::vector<std::uint64_t> starts;
  for (const auto& p : layout.pieces) {
    if (routed.takes(p.job)) {
      routed.add(p.job, p.offset);
      continue;
    }
    for (std::uint64_t at = 0; at < p.size; at += tasks.back().size) {
      tasks.push_back({p.job, p.offset + at, part_size(p.offset + at, p.size - at)});
      starts.push_back(p.offset);
    }
  }
  weights::Caster& caster = weights::cpu_caster();
  run_in_order(tasks.size(), [&](std::size_t i) {
    const auto& t = tasks[i];
    jobs.write(t.job, t.offset - starts[i], t.size, file, t.offset, caster);
    if (progress) progress(t.size);
  });
  routed.run();
}

}  // namespace ampc::emit
