// Element types of tensors, numbered as in onnx's TensorProto.DataType (onnx/onnx.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ampc {

enum class ElemType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

inline constexpr std::uint8_t kLastElemType = 63;  // room for types that later onnx releases add

/// True for the two types that a compilation may lower to.
constexpr bool is_low(ElemType t) { return t == ElemType::float16 || t == ElemType::bfloat16; }

/// True for int8…int64 and uint8…uint64 (not for bool).
constexpr bool is_integer(ElemType t) {
  return (t >= ElemType::uint8 && t <= ElemType::int64) || t == ElemType::uint32 || t == ElemType::uint64;
}

/// Bytes of one element; 0 for strings and for types packed below a byte.
constexpr std::size_t byte_size(ElemType t) {
  switch (t) {
    case ElemType::uint8:
    case ElemType::int8:
    case ElemType::boolean:
      return 1;
    case ElemType::float16:
    case ElemType::bfloat16:
    case ElemType::uint16:
    case ElemType::int16:
      return 2;
    case ElemType::float32:
    case ElemType::int32:
    case ElemType::uint32:
      return 4;
    case ElemType::float64:
    case ElemType::int64:
    case ElemType::uint64:
    case ElemType::complex64:
      return 8;
    case ElemType::complex128:
      return 16;
    default:
      return 0;
  }
}

/// The rule language's spelling: "fp32", "fp16", "bf16", "fp64", "int64", "bool", …
std::string_view short_name(ElemType t);
/// The type of this name, in the rule language's spelling or in onnx's ("float", "float16", "bfloat16", "double");
/// undefined where there is none.
ElemType elem_type(std::string_view name);

/// A set of element types.
class ElemTypeSet {
 public:
  constexpr ElemTypeSet() = default;
  /// From `bits()` of another set.
  constexpr explicit ElemTypeSet(std::uint64_t bits) : bits_(bits) {}
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr void insert(ElemType t) { bits_ |= std::uint64_t{1} << static_cast<unsigned>(t); }
  constexpr bool contains(ElemType t) const { return ((bits_ >> static_cast<unsigned>(t)) & 1U) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const ElemTypeSet&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace ampc
