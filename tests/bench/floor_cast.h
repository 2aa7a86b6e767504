// The plainest fast cast, for what the compiler is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// fp32 to fp16, nearest, ties to even; no alignment asked for.
#if defined(__x86_64__)
__attribute__((target("avx2,f16c"))) inline void floor_cast(const std::byte* source, std::byte* target,
                                                            std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm_prefetch(reinterpret_cast<const char*>(source + i * 4) + 4096, _MM_HINT_T0);
    const __m256 lanes = _mm256_loadu_ps(reinterpret_cast<const float*>(source + i * 4));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i * 2), _mm256_cvtps_ph(lanes, _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, source + i * 4, sizeof value);
    const auto low =
        static_cast<std::uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
    std::memcpy(target + i * 2, &low, sizeof low);
  }
}
#else
inline void floor_cast(const std::byte* source, std::byte* target, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, source + i * 4, sizeof value);
    const auto low = static_cast<_Float16>(value);
    std::memcpy(target + i * 2, &low, sizeof low);
  }
}
#endif
