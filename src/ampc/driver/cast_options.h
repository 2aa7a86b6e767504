// Who casts weights, and what was cast already: --cast-device, --cache and --cache-size.
#pragma once

#include <cstdint>
#include <string>

#include "ampc/diag/diagnostic.h"
#include "ampc/emit/weight_cache.h"
#include "ampc/weights/cast_on.h"
#include "ampc/weights/cast_router.h"

namespace CLI {
class App;
}

namespace ampc::driver {

struct CastOptions {
  std::string cache;                                   // folder; empty for none
  std::uint64_t cache_size = std::uint64_t{10} << 30;  // bytes
  weights::CastOn cast_on = weights::CastOn::cpu;
};

/// Adds the options to `app`; `options` outlives it.
void add_cast_options(CLI::App& app, CastOptions& options);

/// Tells what the cache, where there is one, and devices did not do.
void note_cast_faults(const emit::WeightCache* cache, const weights::CastRouter& router, Diagnostics& diagnostics);
/// What --verbose has of them: lines that each begin with a line break, or nothing.
std::string cast_summary(const emit::WeightCache* cache, const weights::CastRouter& router);

}  // namespace ampc::driver
