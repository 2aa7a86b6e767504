// The compiled model onto the disk: one file, or a model and its data file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ampc/diag/diagnostic.h"
#include "ampc/driver/options.h"
#include "ampc/emit/data_file.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/weight_cache.h"
#include "ampc/emit/weight_jobs.h"
#include "ampc/model/model.h"
#include "ampc/passes/plan.h"
#include "ampc/weights/cast_router.h"

namespace ampc::driver {

/// The data file of a model that is written to `output`.
std::string data_path(const std::string& output);

/// Whether the output is the input's own bytes. To be asked before the model is changed.
bool copies_input(const Model& model, const Plan& plan, bool external_data);

/// Whether a file behind the model has been written to since it was read; reports.
bool reports_changes(const Model& model, Diagnostics& diagnostics);

/// What goes into the model, and what beside it.
struct OutputLayout {
  emit::Image image;
  std::optional<emit::DataLayout> data;
};
/// Of what the messages of `model` and `jobs` make: with weights of `threshold` bytes and more in the file `location`
/// where `external_data` asks for it, and where one file could not hold them. Nothing where two can't, and reports.
std::optional<OutputLayout> lay_out(Model& model, const emit::WeightJobs& jobs, const std::string& location,
                                    bool external_data, std::uint64_t threshold, const std::string& output,
                                    Diagnostics& diagnostics);

/// Whether a model with a data file can't be written to `output`, for a symbolic link; reports.
bool reports_links(const std::string& output, Diagnostics& diagnostics);
/// Removes what killed runs left behind.
void sweep_output(const std::string& output);

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
