#include "ampc/emit/shard_link.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/emit/content_hash.h"
#include "ampc/emit/file_tasks.h"
#include "ampc/emit/shard_sources.h"

namespace ampc::emit {
namespace {

constexpr std::size_t kMostNamed = 8;  // missing shards that are told one by one

ShardFault bad_shard(const std::string& place, const std::string& message, std::string fix) {
  return {codes::kBadShard, place, message, std::move(fix)};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

ShardLinker::ShardLinker(const ShardPlan& plan, std::span<const std::string> paths)
    : plan_(plan), arena_(std::make_unique<google::protobuf::Arena>()) {
  open(paths);
  if (plan_.verbatim) return;
  model_ = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena_.get());
  google::protobuf::io::ArrayInputStream in(plan_.skeleton.data(), static_cast<int>(plan_.skeleton.size()));
  google::protobuf::io::CodedInputStream coded(&in);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  coded.SetRecursionLimit(1000);  // as when the model was read
  if (!model_->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    throw ShardFault(codes::kBadPlan, plan_.model, "the plan of this model is damaged",
                     "make the plan again with ampc plan");
  }
}

ShardLinker::~ShardLinker() = default;

void ShardLinker::open(std::span<const std::string> paths) {
  const std::uint64_t count = plan_.shards.size();
  std::vector<std::optional<Input>> found(count);
  for (const std::string& path : paths) {
    Input input;
    try {
      input.file = MappedFile(path);
    } catch (const std::system_error& e) {
      throw unreadable(path, e.code().value(), "the shard");
    }
    input.shard = read_shard(input.file);
    if (input.shard.plan != plan_.id) {
      throw bad_shard(path, "this shard was cast by another plan",
                      "give the shards of this plan alone, or cast it again");
    }
    const std::uint64_t i = input.shard.index;
    const auto slices = i < count ? slices_of(plan_, plan_.shards[i]) : std::vector<Slice>{};
    const std::uint64_t size = slices.empty() ? 0 : slices.back().offset + slices.back().result_size;
    if (i >= count || input.shard.size != size)
      throw bad_shard(path, "the shard is damaged", "cast it again with ampc cast");
    if (found[i]) {
      throw bad_shard(path,
                      fmt::format("shard {}/{} is here twice: '{}' is it too", i + 1, count, found[i]->file.path()),
                      "give each shard once");
    }
    found[i] = std::move(input);
  }
  std::vector<std::string> missing;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!found[i]) missing.push_back(fmt::format("{}/{}", i + 1, count));
  }
  if (!missing.empty()) {
    const std::size_t more = missing.size() - std::min(missing.size(), kMostNamed);
    missing.resize(missing.size() - more);
    throw bad_shard(plan_.model,
                    fmt::format("of its shards {}{} {} missing", fmt::join(missing, ", "),
                                more == 0 ? "" : fmt::format(" and {} more", more), missing.size() == 1 ? "is" : "are"),
                    fmt::format("cast with --shard {}, and give all of them", missing.front()));
  }
  for (auto& input : found) inputs_.push_back(std::move(*input));
}

void ShardLinker::compare(const std::string& model) const {
  ShardSources sources(plan_, model);
  for (const Input& input : inputs_) {
    const std::uint64_t i = input.shard.index;
    if (source_hash(plan_, plan_.shards[i], sources) == input.shard.source) continue;
    throw bad_shard(input.file.path(), fmt::format("this shard was cast from another model than '{}'", model),
                    fmt::format("cast it again with --shard {}/{}", i + 1, plan_.shards.size()));
  }
  if (!sources.changed()) return;
  throw ShardFault(codes::kInputChanged, model, "the model or its data was written to while it was read",
                   "let nothing write to it during the run");
}

Image ShardLinker::image(const std::string& data_name) {
  const auto size_of = [&](std::uint64_t job) { return plan_.jobs.at(job).result_size(); };
  if (model_ == nullptr) {
    Image image;
    image.layout.size = size_of(0);
    image.layout.pieces.push_back({wire::Piece::Kind::payload, 0, image.layout.size, 0});
    return image;
  }
  if (plan_.data) {
    relocate(*model_, data_name_, data_name);
    data_name_ = data_name;
  }
  try {
    return image_of(*model_, size_of);
  } catch (const std::out_of_range&) {
    throw ShardFault(codes::kBadPlan, plan_.model, "the plan of this model is damaged",
                     "make the plan again with ampc plan");
  }
}

void ShardLinker::put_message(const Image& image, OutputFile& model, Places& places) const {
  model.set_size(image.layout.size);
  for (const wire::Piece& p : image.layout.pieces) {
    switch (p.kind) {
      case wire::Piece::Kind::skeleton:
        model.write_at(p.offset, bytes_of(std::string_view(image.skeleton).substr(p.begin, p.size)));
        break;
      case wire::Piece::Kind::lengths:
        model.write_at(p.offset, bytes_of(std::string_view(image.layout.lengths).substr(p.begin, p.size)));
        break;
      case wire::Piece::Kind::payload:
        places[p.begin].push_back({&model, p.offset});
        break;
    }
  }
}

void ShardLinker::put(const Places& places, bool checked, const std::function<void(std::uint64_t)>& progress) const {
  for (std::uint64_t i = 0; i < plan_.jobs.size(); ++i) {
    const ShardPlan::Job& job = plan_.jobs[i];
    if (job.kind != ShardPlan::Kind::ready) continue;
    const auto result = bytes_of(std::string_view(plan_.results).substr(job.offset, job.size));
    for (const Place& place : places[i]) place.file->write_at(place.offset, result);
  }
  for (const Input& input : inputs_) {
    const std::vector<Slice> slices = slices_of(plan_, plan_.shards[input.shard.index]);
    PieceHashes hashes(slices.size());
    run_in_order(slices.size(), [&](std::size_t i) {
      const Slice& slice = slices[i];
      if (!checked && places[slice.job].empty()) return;
      thread_local std::vector<std::byte> buffer;
      buffer.resize(slice.result_size);
      read_at(input.file, slice.offset, buffer);
      if (checked) hashes.set(i, buffer);
      for (const Place& place : places[slice.job]) place.file->write_at(place.offset + slice.result_begin, buffer);
      if (progress) progress(slice.result_size);
    });
    if (checked && hashes.whole() != input.shard.hash) {
      throw bad_shard(input.file.path(), "the shard is damaged", "cast it again with ampc cast");
    }
  }
}

void ShardLinker::confirm() const {
  std::map<std::uint64_t, weights::Stats> found;
  for (const Input& input : inputs_) {
    for (const auto& [job, stats] : input.shard.stats) found[job].merge(stats);
  }
  for (const ShardPlan::Assumption& a : plan_.assumptions) {
    const ShardPlan::Job& job = plan_.jobs[a.job];
    const auto at = found.find(a.job);
    const bool whole =
        at != found.end() && at->second.count * std::uint64_t{byte_size(job.conversion.from)} == job.size;
    if (whole && at->second.overflow == 0 && at->second.underflow <= a.most_underflow) continue;
    const std::string low(short_name(job.conversion.to));
    throw ShardFault(codes::kUnmeasured, fmt::format("{}: weight '{}'", plan_.model, a.weight),
                     !whole ? "no shard tells what this weight holds"
                            : fmt::format("the plan was made without reading this weight, of which {} elements are too "
                                          "large for {} and {} become zero",
                                          at->second.overflow, low, at->second.underflow),
                     "make the plan without --unmeasured, so that the rules decide what becomes of it");
  }
}

void ShardLinker::write(const Image& image, OutputFile& model, OutputFile* data,
                        const std::function<void(std::uint64_t)>& progress) {
  confirm();
  Places places(plan_.jobs.size());
  put_message(image, model, places);
  if (plan_.data && data != nullptr) {
    data->set_size(plan_.data->size);
    for (const DataLayout::Piece& p : plan_.data->pieces) places[p.job].push_back({data, p.offset});
  }
  put(places, true, progress);
}

void ShardLinker::write_again(const Image& image, OutputFile& model) {
  Places places(plan_.jobs.size());
  put_message(image, model, places);
  put(places, false, {});
}

}  // namespace ampc::emit
