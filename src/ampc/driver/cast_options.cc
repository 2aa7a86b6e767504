#include "ampc/driver/cast_options.h"

#include <CLI/CLI.hpp>

#include "ampc/diag/model_codes.h"
#include "ampc/driver/size_option.h"

namespace ampc::driver {

void add_cast_options(CLI::App& app, CastOptions& o) {
  auto* cache = app.add_option("--cache", o.cache, "Folder of weights that were cast already, for many runs to share")
                    ->type_name("DIR");
  add_size_option(app, "--cache-size", o.cache_size,
                  "Most bytes in that folder, such as 500M: what was used longest ago goes")
      ->default_str("10G")
      ->needs(cache);
  app.add_option_function<std::string>(
         "--cast-device",
         [&o](const std::string& who) {
           o.cast_on = who == "cuda"   ? weights::CastOn::cuda
                       : who == "auto" ? weights::CastOn::automatic
                                       : weights::CastOn::cpu;
         },
         "Who casts weights: cpu, cuda, or auto, whichever is measured to be faster")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->type_name("WHO")
      ->default_str("cpu");
}

void note_cast_faults(const emit::WeightCache* cache, const weights::CastRouter& router, Diagnostics& diagnostics) {
  if (cache != nullptr && !cache->fault().empty()) {
    diagnostics.note(codes::kCache, "weights are cast without the cache: " + cache->fault());
  }
  for (const std::string& fault : router.faults()) {
    diagnostics.note(codes::kCastDevice, "the CPU did casts that were meant for a device: " + fault);
  }
}

std::string cast_summary(const emit::WeightCache* cache, const weights::CastRouter& router) {
  std::string text;
  if (cache != nullptr) text += "\n  " + cache->summary();
  const std::string measured = router.measured();
  if (!measured.empty()) text += "\n  " + measured;
  return text;
}

}  // namespace ampc::driver
