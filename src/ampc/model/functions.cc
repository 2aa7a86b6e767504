#include "ampc/model/functions.h"

#include <exception>

#include <fmt/format.h>
#include "onnx/inliner/inliner.h"
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/onnx_registry.h"

namespace ampc::functions {

void inline_all(Model& m, Diagnostics& diagnostics) {
  if (m.proto->functions_size() == 0) return;
  onnx_registry::register_all();  // the inliner looks operators up in onnx's registry
  m.inlined = true;
  std::string reason;
  try {
    onnx::inliner::InlineLocalFunctions(*m.proto);
  } catch (const std::exception& e) {
    reason = e.what();
  }
  for (const auto& f : m.proto->functions()) {
    auto& d = diagnostics.warning(
        codes::kLoneFunction,
        fmt::format("function '{}' of domain '{}' is not expanded; its calls stay in fp32", f.name(), f.domain()));
    d.in(m.path);
    if (!reason.empty()) d.note(reason);
  }
}

}  // namespace ampc::functions
