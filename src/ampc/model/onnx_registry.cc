#include "ampc/model/onnx_registry.h"

#include <array>
#include <mutex>
#include <string_view>
#include <utility>

#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"
#include "onnx/defs/operator_sets_preview.h"
#include "onnx/defs/operator_sets_training.h"
#include "onnx/defs/schema.h"

namespace ampc::onnx_registry {
namespace {

using Add = std::function<void(onnx::OpSchema&&)>;

/// One of onnx's operator sets: the schemas that came with this version of the domain.
struct Set {
  std::string_view domain;
  int version;
  void (*for_each)(const Add&);
};

template <typename... Sets, std::size_t... I>
constexpr std::array<Set, sizeof...(Sets)> sets_of(std::string_view domain, std::index_sequence<I...>) {
  return {Set{domain, static_cast<int>(I) + 1, [](const Add& add) { Sets::ForEachSchema(add); }}...};
}

/// Versions 1, 2, 3, … of a domain.
template <typename... Sets>
constexpr auto sets_of(std::string_view domain) {
  return sets_of<Sets...>(domain, std::make_index_sequence<sizeof...(Sets)>());
}

using namespace onnx;  // NOLINT(google-build-using-namespace): the names below are all onnx's
constexpr auto kDefault =
    sets_of<OpSet_Onnx_ver1, OpSet_Onnx_ver2, OpSet_Onnx_ver3, OpSet_Onnx_ver4, OpSet_Onnx_ver5, OpSet_Onnx_ver6,
            OpSet_Onnx_ver7, OpSet_Onnx_ver8, OpSet_Onnx_ver9, OpSet_Onnx_ver10, OpSet_Onnx_ver11, OpSet_Onnx_ver12,
            OpSet_Onnx_ver13, OpSet_Onnx_ver14, OpSet_Onnx_ver15, OpSet_Onnx_ver16, OpSet_Onnx_ver17, OpSet_Onnx_ver18,
            OpSet_Onnx_ver19, OpSet_Onnx_ver20, OpSet_Onnx_ver21, OpSet_Onnx_ver22, OpSet_Onnx_ver23, OpSet_Onnx_ver24,
            OpSet_Onnx_ver25, OpSet_Onnx_ver26, OpSet_Onnx_ver27, OpSet_Onnx_ver28>("");
constexpr auto kMl =
    sets_of<OpSet_OnnxML_ver1, OpSet_OnnxML_ver2, OpSet_OnnxML_ver3, OpSet_OnnxML_ver4, OpSet_OnnxML_ver5>(
        "ai.onnx.ml");
constexpr auto kTraining = sets_of<OpSet_OnnxTraining_ver1>("ai.onnx.training");
constexpr auto kPreview = sets_of<OpSet_OnnxPreview_ver1>("ai.onnx.preview.training");

template <typename Do>
void each_set(const Do& act) {
  std::size_t i = 0;
  for (const auto& s : kDefault) act(i++, s);
  for (const auto& s : kMl) act(i++, s);
  for (const auto& s : kTraining) act(i++, s);
  for (const auto& s : kPreview) act(i++, s);
}

std::mutex mutex;

/// Registers the sets that `wanted` takes and that are not there yet. Under the mutex.
template <typename Wanted>
void register_sets(const Wanted& wanted) {
  static std::array<bool, kDefault.size() + kMl.size() + kTraining.size() + kPreview.size()> there{};
  each_set([&](std::size_t i, const Set& set) {
    if (there[i] || !wanted(set)) return;
    there[i] = true;
    set.for_each([](onnx::OpSchema&& schema) {
      // A library built with static registration has this one already: then the second is ignored.
      onnx::OpSchemaRegistry::OpSchemaRegisterOnce::OpSchemaRegisterNoExcept(std::move(schema), 0, false);
    });
  });
  onnx::OpSchemaRegistry::SetLoadedSchemaVersion(0);
}

}  // namespace

const onnx::OpSchema* find(const Signature& signature) {
  const std::lock_guard lock(mutex);
  register_sets([&](const Set& s) { return s.version == signature.since_version && s.domain == signature.domain; });
  return onnx::OpSchemaRegistry::Schema(signature.name, signature.since_version, signature.domain);
}

void register_all() {
  const std::lock_guard lock(mutex);
  register_sets([](const Set&) { return true; });
}

void for_each(const std::function<void(const onnx::OpSchema&)>& seen) {
  register_all();
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) seen(schema);
}

}  // namespace ampc::onnx_registry
