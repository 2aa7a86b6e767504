#include "ampc/emit/shard_file.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/emit/content_hash.h"

namespace ampc::emit {
namespace {

using nlohmann::json;

// The last line tells the length and the hash of the JSON before it: "ampc shard 2 LENGTH HASH".
constexpr std::string_view kMagic = "ampc shard ";
constexpr std::string_view kVersion = "2";
constexpr std::size_t kLengthDigits = 16;
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kLineSize = kMagic.size() + kVersion.size() + 1 + kLengthDigits + 1 + kHashDigits + 1;

}  // namespace

std::string shard_tail(const ShardFile& shard) {
  json stats = json::array();
  for (const auto& [job, s] : shard.stats) stats.push_back({job, s.count, s.overflow, s.underflow});
  const json j = {{"plan", shard.plan}, {"index", shard.index},   {"size", shard.size},
                  {"hash", shard.hash}, {"source", shard.source}, {"stats", stats}};
  const std::string text = j.dump() + '\n';
  const std::string hash = content_hash(std::as_bytes(std::span(text.data(), text.size())));
  return text + fmt::format("{}{} {:0{}x} {}\n", kMagic, kVersion, text.size(), kLengthDigits, hash);
}

ShardFile read_shard(const MappedFile& file) {
  const auto fault = [&](const std::string& message, std::string fix) {
    return ShardFault(codes::kBadShard, file.path(), message, std::move(fix));
  };
  const auto none = [&] {
    return fault("this is no shard, or the end of one is missing", "give the files that ampc cast has written");
  };
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const std::size_t line = text.substr(0, text.empty() ? 0 : text.size() - 1).rfind('\n');
  if (line == std::string_view::npos || !text.substr(line + 1).starts_with(kMagic)) throw none();
  const std::string_view last = text.substr(line + 1);
  const std::string_view rest = last.substr(kMagic.size());
  if (const std::string_view version = rest.substr(0, rest.find(' ')); version != kVersion) {
    throw fault(fmt::format("this shard has format {}; this ampc reads format {}", version, kVersion),
                "use one version of ampc for plan, cast and link");
  }
  const auto damaged = [&] { return fault("the shard is damaged", "cast it again with ampc cast"); };
  if (last.size() != kLineSize || last.back() != '\n') throw damaged();
  std::uint64_t length = 0;
  for (const char c : rest.substr(kVersion.size() + 1, kLengthDigits)) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) throw damaged();
    length = length * 16 + digit;
  }
  if (length > line + 1) throw damaged();
  const std::string_view head = text.substr(line + 1 - length, length);
  if (content_hash(std::as_bytes(std::span(head.data(), head.size()))) !=
      last.substr(kLineSize - 1 - kHashDigits, kHashDigits)) {
    throw damaged();
  }
  ShardFile shard;
  try {
    const json j = json::parse(head);
    j.at("plan").get_to(shard.plan);
    j.at("index").get_to(shard.index);
    j.at("size").get_to(shard.size);
    j.at("hash").get_to(shard.hash);
    j.at("source").get_to(shard.source);
    for (const json& s : j.at("stats")) {
      weights::Stats& stats = shard.stats[s.at(0)];
      s.at(1).get_to(stats.count);
      s.at(2).get_to(stats.overflow);
      s.at(3).get_to(stats.underflow);
    }
  } catch (const json::exception&) {
    throw damaged();
  }
  if (shard.size != line + 1 - length) throw damaged();
  return shard;
}

}  // namespace ampc::emit
