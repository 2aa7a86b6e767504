#include "ampc/emit/model_writer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include "onnx/onnx_pb.h"

#include "ampc/emit/file_tasks.h"
#include "ampc/emit/routed_casts.h"
#include "ampc/model/tensors.h"

namespace ampc::emit {
namespace {

/// Bytes [begin, end) of the output file, which one thread makes; piece `first` is the first that has some of them.
struct Task {
  std::size_t first = 0;
  std::uint64_t begin = 0, end = 0;
};

/// What lies between payloads that `routed` takes, which are given to it, cut where blocks of the file end.
std::vector<Task> tasks_of(const wire::Layout& layout, RoutedCasts& routed) {
  std::vector<Task> tasks;
  std::optional<Task> open;
  for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
    const wire::Piece& p = layout.pieces[i];
    if (p.kind == wire::Piece::Kind::payload && routed.takes(p.begin)) {
      routed.add(p.begin, p.offset);
      if (open) tasks.push_back(*std::exchange(open, std::nullopt));
      continue;
    }
    for (std::uint64_t at = p.offset, end = p.offset + p.size; at != end;) {
      const std::uint64_t size = part_size(at, end - at);
      if (!open) open = Task{i, at, at};
      open->end = at += size;
      if (at % kTaskBytes == 0) tasks.push_back(*std::exchange(open, std::nullopt));
    }
  }
  if (open) tasks.push_back(*open);
  return tasks;
}

void make(const Image& image, const WeightJobs& jobs, const wire::Piece& p, std::uint64_t begin,
          std::span<std::byte> out, weights::Caster& caster) {
  switch (p.kind) {
    case wire::Piece::Kind::skeleton:
      std::memcpy(out.data(), image.skeleton.data() + p.begin + begin, out.size());
      break;
    case wire::Piece::Kind::lengths:
      std::memcpy(out.data(), image.layout.lengths.data() + p.begin + begin, out.size());
      break;
    case wire::Piece::Kind::payload:
      jobs.run(p.begin, begin, out, caster);
      break;
  }
}

}  // namespace

std::string skeleton_of(const onnx::ModelProto& model) {
  std::string skeleton(model.ByteSizeLong(), '\0');
  google::protobuf::io::ArrayOutputStream array(skeleton.data(), static_cast<int>(skeleton.size()));
  google::protobuf::io::CodedOutputStream out(&array);
  out.SetSerializationDeterministic(true);
  model.SerializeWithCachedSizes(&out);
  return skeleton;
}

Image image_of(const onnx::ModelProto& model, const std::function<std::uint64_t(std::uint64_t)>& size_of) {
  Image image{skeleton_of(model), {}};
  image.layout = wire::lay_out(image.skeleton, size_of);
  return image;
}

Image image_of(const Model& m, const WeightJobs& jobs) {
  return image_of(*m.proto, [&](std::uint64_t i) { return jobs.at(i).size(); });
}

void write_image(const Image& image, const WeightJobs& jobs, OutputFile& file, weights::CastRouter& router,
                 const std::function<void(std::uint64_t)>& progress) {
  file.set_size(image.layout.size);
  RoutedCasts routed(jobs, router, file, progress);
  const std::vector<Task> tasks = tasks_of(image.layout, routed);
  weights::Caster& caster = weights::cpu_caster();
  run_in_order(tasks.size(), [&](std::size_t index) {
    const auto [first, begin, end] = tasks[index];
    const wire::Piece* piece = &image.layout.pieces[first];
    if (piece->kind == wire::Piece::Kind::payload && piece->offset + piece->size >= end) {
      jobs.write(piece->begin, begin - piece->offset, end - begin, file, begin, caster);
    } else {
      thread_local std::vector<std::byte> buffer;
      buffer.resize(end - begin);
      for (std::uint64_t at = begin; at != end; ++piece) {
        const std::uint64_t size = std::min(piece->offset + piece->size, end) - at;
        make(image, jobs, *piece, at - piece->offset, {buffer.data() + (at - begin), size}, caster);
        at += size;
      }
      file.write_at(begin, buffer);
    }
    if (progress) progress(end - begin);
  });
  routed.run();
}

void materialise(Model& m, const WeightJobs& jobs) {
  tensors::for_each(*m.proto, [&](onnx::TensorProto& t) {
    if (!t.has_raw_data()) return;
    const auto index = wire::marker_index(t.raw_data());
    if (!index) return;
    std::string raw(jobs.at(*index).size(), '\0');
    jobs.run(*index, 0, {reinterpret_cast<std::byte*>(raw.data()), raw.size()}, weights::cpu_caster());
    t.set_raw_data(std::move(raw));
  });
}

}  // namespace ampc::emit
