// The compiled model onto the disk: one file, or a model and its data file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ampc/diag/diagnostic.h"
#include "ampc/driver/options.h"
#include "ampc/emit/weight_cache.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/model/model.h"
#include "ampc/weights/cast_router.h"

namespace ampc::driver {

/// The data file of a model that is written to `output`.
std::string data_path(const std::string& output);

struct Written {
  std::uint64_t bytes = 0;
  bool data_file = false;  // there is one beside the model
};

/// Writes what the messages of `model` and `jobs` make to `output`; with `as_it_is`, the input's own bytes. Weights go
/// into a data file where `options` ask for it, and where one file could not hold them; `router` says who casts, and a
/// `cache` keeps what was cast. When all is written and nothing is in its place, `confirm` may still call it off. Gives
/// what was written, or reports. Throws IoError.
Written write_model(Model& model, const emit::WeightJobs& jobs, bool as_it_is, const std::string& output,
                    const Options& options, weights::CastRouter& router, const std::function<bool()>& confirm,
                    emit::WeightCache* cache, Diagnostics& diagnostics);

}  // namespace ampc::driver
