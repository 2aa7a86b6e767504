// What the compiler wants to know of an onnx schema.
//
// Reading it off costs a start some ten milliseconds for all that onnx has, so it is done while ampc is built
// (src/tools/make_schema_table.cc); a test holds that table against the library.
#pragma once

#include "ampc/model/schemas.h"

namespace onnx {
class OpSchema;
}

namespace ampc {

Signature signature_of(const onnx::OpSchema& schema);

}  // namespace ampc
