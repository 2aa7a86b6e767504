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
    case ElemType::float8e4m3fn:
      return "float8e4m3fn";
    case ElemType::float8e4m3fnuz:
      return "float8e4m3fnuz";
    case ElemType::float8e5m2:
      return "float8e5m2";
    case ElemType::float8e5m2fnuz:
      return "float8e5m2fnuz";
    case ElemType::uint4:
      return "uint4";
    case ElemType::int4:
      return "int4";
    case ElemType::float4e2m1:
      return "float4e2m1";
    case ElemType::float8e8m0:
      return "float8e8m0";
    case ElemType::uint2:
      return "uint2";
    case ElemType::int2:
      return "int2";
  }
  return "other";
}

ElemType elem_type(std::string_view name) {
  if (name == "float") return ElemType::float32;
  if (name == "float16") return ElemType::float16;
  if (name == "bfloat16") return ElemType::bfloat16;
  if (name == "double") return ElemType::float64;
  for (unsigned t = 1; t <= static_cast<unsigned>(ElemType::int2); ++t) {
    if (short_name(static_cast<ElemType>(t)) == name) return static_cast<ElemType>(t);
  }
  return ElemType::undefined;
}

}  // namespace ampc
