// Operators that rule files declare: `extern com.acme::FusedMoe(x: T) -> (y: T) where T in fp32, fp16`.
#pragma once

#include <memory>
#include <string>

#include "ampc/lang/program.h"
#include "ampc/model/operators.h"

namespace ampc::lang {

/// Checks the declarations of all units and joins them with onnx's schemas.
std::shared_ptr<const Operators> declare(const Program& program, Diagnostics& diagnostics);

/// A declaration in the language's own words; the same operator prints the same text.
std::string print(const Signature& signature);

}  // namespace ampc::lang
