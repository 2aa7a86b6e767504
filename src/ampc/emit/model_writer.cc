#include "ampc/emit/model_writer.h"

#include <cstring>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include "onnx/onnx_pb.h"

#include "ampc/emit/file_tasks.h"
#include "ampc/emit/routed_casts.h"
#include "ampc/model/tensors.h"

namespace ampc::emit {
namespace {

/// A run of output bytes that one thread makes: pieces [first, last), or a part of one payload.
struct Task {
  std::size_t first = 0, last = 0;
  std::uint64_t begin = 0,
                size = 0;  // of the payload's result, where last == first + 1 and the piece is larger than a task
  bool part = false;
};

/// Payloads that `routed` takes are given to it.
std::vector<Task> tasks_of(const wire::Layout& layout, RoutedCasts& routed) {
  std::vector<Task> tasks;
  Task open;
  std::uint64_t gathered = 0;
  const auto close = [&](std::size_t next) {
    if (open.last > open.first) tasks.push_back(open);
    open = {next, next, 0, 0, false};
    gathered = 0;
  };
  for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
    const wire::Piece& p = layout.pieces[i];
    if (p.kind == wire::Piece::Kind::payload && routed.takes(p.begin)) {
      close(i + 1);
      routed.add(p.begin, p.offset);
      continue;
    }
    if (p.size > kTaskBytes) {
      close(i + 1);
      for (std::uint64_t at = 0; at < p.size; at += tasks.back().size) {
        tasks.push_back({i, i + 1, at, part_size(p.offset + at, p.size - at), true});
      }
      continue;
    }
    open.last = i + 1;
    gathered += p.size;
    if (gathered >= kTaskBytes) close(i + 1);
  }
  close(layout.pieces.size());
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

Image image_of(const Model& m, const WeightJobs& jobs) {
  Image image;
  image.skeleton.resize(m.proto->ByteSizeLong());
  google::protobuf::io::ArrayOutputStream array(image.skeleton.data(), static_cast<int>(image.skeleton.size()));
  {
    google::protobuf::io::CodedOutputStream out(&array);
    out.SetSerializationDeterministic(true);
    m.proto->SerializeWithCachedSizes(&out);
  }
  image.layout = wire::lay_out(image.skeleton, [&](std::uint64_t i) { return jobs.at(i).size(); });
  return image;
}

void write_image(const Image& image, const WeightJobs& jobs, OutputFile& file, weights::CastRouter& router,
                 const std::function<void(std::uint64_t)>& progress) {
  file.set_size(image.layout.size);
  RoutedCasts routed(jobs, router, file, progress);
  const std::vector<Task> tasks = tasks_of(image.layout, routed);
  weights::Caster& caster = weights::cpu_caster();
  run_in_order(tasks.size(), [&](std::size_t task) {
    const Task& t = tasks[task];
    thread_local std::vector<std::byte> buffer;
    const wire::Piece& first = image.layout.pieces[t.first];
    std::uint64_t done = t.size;
    if (t.part && first.kind == wire::Piece::Kind::payload) {
      jobs.write(first.begin, t.begin, t.size, file, first.offset + t.begin, caster);
    } else if (t.part) {
      buffer.resize(t.size);
      make(image, jobs, first, t.begin, buffer, caster);
      file.write_at(first.offset + t.begin, buffer);
    } else {
      const wire::Piece& last = image.layout.pieces[t.last - 1];
      buffer.resize(last.offset + last.size - first.offset);
      for (std::size_t i = t.first; i < t.last; ++i) {
        const wire::Piece& p = image.layout.pieces[i];
        make(image, jobs, p, 0, {buffer.data() + (p.offset - first.offset), p.size}, caster);
      }
      file.write_at(first.offset, buffer);
      done = buffer.size();
    }
    if (progress) progress(done);
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
