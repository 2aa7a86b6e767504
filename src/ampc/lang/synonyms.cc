#include "ampc/lang/synonyms.h"

#include <algorithm>
#include <span>
#include <utility>

namespace ampc::lang {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

std::string_view find(std::span<const Pair> list, std::string_view word) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const Pair& p) { return p.first == word; });
  return at == list.end() ? std::string_view() : at->second;
}

}  // namespace

std::string_view type_meant(std::string_view word) {
  static constexpr Pair list[] = {
      {"FP16", "fp16"},     {"float16", "fp16"}, {"half", "fp16"},   {"f16", "fp16"},     {"FP32", "fp32"},
      {"float32", "fp32"},  {"float", "fp32"},   {"f32", "fp32"},    {"single", "fp32"},  {"BF16", "bf16"},
      {"bfloat16", "bf16"}, {"FP64", "fp64"},    {"double", "fp64"}, {"float64", "fp64"}, {"int", "int32"},
      {"long", "int64"},    {"boolean", "bool"}, {"str", "string"},
  };
  return find(list, word);
}

std::string_view question_meant(std::string_view word) {
  static constexpr Pair list[] = {{"ndim", "rank"},  {"ndims", "rank"}, {"shape", "dim"},     {"len", "size"},
                                  {"numel", "size"}, {"dtype", "type"}, {"elem_type", "type"}};
  return find(list, word);
}

std::string_view statement_meant(std::string_view word) {
  static constexpr Pair list[] = {
      {"include", "import"},   {"use", "import"},        {"require", "import"},     {"source", "import"},
      {"permit", "allow"},     {"whitelist", "allow"},   {"allow_list", "allow"},   {"allowlist", "allow"},
      {"block_list", "deny"},  {"blocklist", "deny"},    {"op_block_list", "deny"}, {"blacklist", "deny"},
      {"disallow", "deny"},    {"exclude", "deny"},      {"forbid", "deny"},        {"skip", "leave"},
      {"ignore", "leave"},     {"precision", "dtype"},   {"type", "dtype"},         {"opt_level", "level"},
      {"keep_io_types", "io"}, {"inputs", "io"},         {"outputs", "io"},         {"operator", "extern"},
      {"declare", "extern"},   {"define", "alias"},      {"subgraph", "block"},     {"graph", "block"},
      {"module", "scope"},     {"gradient", "backward"},
  };
  return find(list, word);
}

}  // namespace ampc::lang
