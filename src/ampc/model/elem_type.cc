#include "ampc/model/elem_type.h"

namespace ampc {

std::string_view short_name(ElemType t) {
  switch (t) {
    case ElemType::undefined:
      return "unknown";
    case ElemType::float32:
      return "fp32";
    case ElemType::uint8:
      return "uint8";
    case ElemType::int8:
      return "int8";
    case ElemType::uint16:
      return "uint16";
    case ElemType::int16:
      return "int16";
    case ElemType::int32:
      return "int32";
    case ElemType::int64:
      return "int64";
    case ElemType::string:
      return "string";
    case ElemType::boolean:
      return "bool";
    case ElemType::float16:
      return "fp16";
    case ElemType::float64:
      return "fp64";
    case ElemType::uint32:
      return "uint32";
    case ElemType::uint64:
      return "uint64";
    case ElemType::complex64:
      return "complex64";
    case ElemType::complex128:
      return "complex128";
    case ElemType::bfloat16:
      return "bf16";
  }
  return "other";
}

}  // namespace ampc
