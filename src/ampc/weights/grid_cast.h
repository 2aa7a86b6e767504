// What one of a grid's threads does to a range of elements: casts them through element.h, and counts what casting does
// to them. The kernels run nothing else, and host tests run it thread by thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ampc/weights/element.h"

namespace ampc::weights::grid {

/// Bytes of one access where alignment allows it.
inline constexpr std::size_t kAccess = 16;

/// What the compiler moves in one 128-bit access.
template <class T>
struct alignas(kAccess) Pack {
  static constexpr int kCount = kAccess / sizeof(T);
  T items[kCount];
};

/// What one thread counts of at most 2^32 - 1 elements. `largest` holds bits of the source's format, which integers
/// order.
template <class Bits>
struct Tally {
  Bits largest = 0;
  std::uint32_t nonfinite = 0;
  std::uint32_t overflow = 0;
  std::uint32_t underflow = 0;
  std::uint32_t subnormal = 0;
};

template <class From, class To>
AMPC_HOST_DEVICE constexpr void count(Tally<typename From::Bits>& tally, typename From::Bits bits) {
  using Bounds = Limits<From, To>;
  const auto magnitude = static_cast<typename From::Bits>(bits & From::kMagnitude);
  const bool finite = magnitude < From::kInfinity;
  if (finite && magnitude > tally.largest) tally.largest = magnitude;
  tally.nonfinite += finite ? 0U : 1U;
  tally.overflow += finite && magnitude >= Bounds::kOverflow ? 1U : 0U;
  tally.underflow += magnitude != 0 && magnitude <= Bounds::kUnderflow ? 1U : 0U;
  tally.subnormal += magnitude > Bounds::kUnderflow && magnitude < Bounds::kNormal ? 1U : 0U;
}

/// Narrows, and counts on the way.
template <class FromFormat, class ToFormat, bool kClamp>
struct Narrowing {
  using From = FromFormat;
  using To = ToFormat;
  Tally<typename From::Bits> tally;

  AMPC_HOST_DEVICE constexpr typename To::Bits operator()(typename From::Bits bits) {
    count<From, To>(tally, bits);
    return narrow<From, To>(bits, kClamp);
  }
};

/// Widens; there is nothing to count.
template <class FromFormat, class ToFormat>
struct Widening {
  using From = FromFormat;
  using To = ToFormat;

  AMPC_HOST_DEVICE constexpr typename To::Bits operator()(typename From::Bits bits) { return widen<From, To>(bits); }
};

/// How a range is cut: `head` elements one by one, then `groups` of kGroup elements whose results are aligned, then the
/// rest one by one. `packed` where the groups' sources are aligned as well, not only to their own size.
struct Cut {
  std::size_t head = 0;
  std::size_t groups = 0;
  bool packed = false;
};

template <class In, class Out>
inline constexpr std::size_t kGroup = kAccess / (sizeof(In) < sizeof(Out) ? sizeof(In) : sizeof(Out));

template <class In, class Out>
AMPC_HOST_DEVICE inline Cut cut(const std::byte* source, const std::byte* target, std::size_t count) {
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  const auto to = reinterpret_cast<std::uintptr_t>(target);
  const std::size_t to_boundary = (kAccess - to % kAccess) % kAccess;
  // What lies between elements' own boundaries never meets a larger one.
  const bool astray = from % sizeof(In) != 0 || to % sizeof(Out) != 0;
  if (astray || to_boundary / sizeof(Out) >= count) return {count, 0, false};
  Cut result;
  result.head = to_boundary / sizeof(Out);
  result.groups = (count - result.head) / kGroup<In, Out>;
  result.packed = (from + result.head * sizeof(In)) % kAccess == 0;
  return result;
}

/// An element at any address.
template <class T>
AMPC_HOST_DEVICE inline T load(const std::byte* at) {
  if (reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0) return *reinterpret_cast<const T*>(at);
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(at[i])) << (8 * i)));
  }
  return value;
}

template <class T>
AMPC_HOST_DEVICE inline void store(std::byte* at, T value) {
  if (reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0) {
    *reinterpret_cast<T*>(at) = value;
    return;
  }
  for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>((value >> (8 * i)) & 0xffU);
}

/// The share of thread `thread` of `threads`, which stride through the range together.
template <class Op>
AMPC_HOST_DEVICE inline void cast(const std::byte* source, std::byte* target, std::size_t count, std::size_t thread,
                                  std::size_t threads, Op& op) {
  using In = typename Op::From::Bits;
  using Out = typename Op::To::Bits;
  constexpr std::size_t kElements = kGroup<In, Out>;
  constexpr std::size_t kInPacks = kElements * sizeof(In) / kAccess;
  constexpr std::size_t kOutPacks = kElements * sizeof(Out) / kAccess;
  const Cut ranges = cut<In, Out>(source, target, count);

  for (std::size_t group = thread; group < ranges.groups; group += threads) {
    const std::size_t first = ranges.head + group * kElements;
    const std::byte* from = source + first * sizeof(In);
    Pack<In> in[kInPacks];
    if (ranges.packed) {
      for (std::size_t p = 0; p < kInPacks; ++p) in[p] = reinterpret_cast<const Pack<In>*>(from)[p];
    } else {
      for (std::size_t i = 0; i < kElements; ++i) {
        in[i / Pack<In>::kCount].items[i % Pack<In>::kCount] = reinterpret_cast<const In*>(from)[i];
      }
    }
    Pack<Out> out[kOutPacks];
    for (std::size_t i = 0; i < kElements; ++i) {
      out[i / Pack<Out>::kCount].items[i % Pack<Out>::kCount] =
          op(in[i / Pack<In>::kCount].items[i % Pack<In>::kCount]);
    }
    auto* to = reinterpret_cast<Pack<Out>*>(target + first * sizeof(Out));
    for (std::size_t p = 0; p < kOutPacks; ++p) to[p] = out[p];
  }
  const std::size_t grouped = ranges.groups * kElements;
  for (std::size_t i = thread; i < count - grouped; i += threads) {
    const std::size_t at = i < ranges.head ? i : i + grouped;
    store<Out>(target + at * sizeof(Out), op(load<In>(source + at * sizeof(In))));
  }
}

}  // namespace ampc::weights::grid
