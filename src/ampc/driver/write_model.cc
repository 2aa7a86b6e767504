#include "ampc/driver/write_model.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for_each.h>

#include "ampc/diag/model_codes.h"
#include "ampc/driver/progress.h"
#include "ampc/emit/data_file.h"
#include "ampc/emit/model_writer.h"
#include "ampc/emit/output_pair.h"
#include "ampc/emit/temporary_file.h"
#include "ampc/model/storage.h"

namespace ampc::driver {

namespace fs = std::filesystem;

namespace {

/// Whether the model at `path` names the data file `name`: a run that was killed while it replaced a pair may have left
/// one that does.
bool mentions(const std::string& path, const std::string& name) {
  try {
    const MappedFile file(path);
    const auto text = std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    return text.find(name) != std::string_view::npos;
  } catch (const std::system_error&) {
    return false;
  }
}

/// A model and its data are found in one folder, and onnx's loader opens no data through a link.
bool reports_link(const std::string& path, Diagnostics& diagnostics) {
  std::error_code error;
  const fs::path real = fs::read_symlink(path, error);
  if (error) return false;
  diagnostics
      .error(codes::kCannotWrite,
             fmt::format("a model with its weights in a data file cannot be written through a symbolic link (to '{}')",
                         real.string()))
      .in(path)
      .fix("name the file that the link points at with -o, or remove the link");
  return true;
}

/// Keeps what was cast into the model itself.
void keep(emit::WeightCache& cache, const emit::Image& image, const emit::WeightJobs& jobs,
          const emit::OutputFile& file) {
  tbb::parallel_for_each(image.layout.pieces, [&](const wire::Piece& p) {
    if (p.kind == wire::Piece::Kind::payload) cache.store(jobs, p.begin, file, p.offset);
  });
}

}  // namespace

std::string data_path(const std::string& output) { return output + ".data"; }

bool copies_input(const Model& model, const Plan& plan, bool external_data) {
  return plan.identity && !model.has_external && !model.rewritten && !external_data;
}

bool reports_changes(const Model& model, Diagnostics& diagnostics) {
  const auto paths = model.changed_files();
  for (const std::string& path : paths) {
    diagnostics.error(codes::kInputChanged, "the file was written to while it was read; no output was made of it")
        .in(path)
        .fix("let nothing write to it during the run, or replace it by a rename; then run again");
  }
  return !paths.empty();
}

void sweep_output(const std::string& output) {
  emit::temporary::sweep(output);
  emit::temporary::sweep(data_path(output), [&](const std::string& name) { return mentions(output, name); });
}

bool reports_links(const std::string& output, Diagnostics& diagnostics) {
  return reports_link(output, diagnostics) || reports_link(data_path(output), diagnostics);
}

std::optional<OutputLayout> lay_out(Model& model, const emit::WeightJobs& jobs, const std::string& location,
                                    bool external_data, std::uint64_t threshold, const std::string& output,
                                    Diagnostics& diagnostics) {
  OutputLayout out;
  if (!external_data) out.image = emit::image_of(model, jobs);
  if (external_data || out.image.layout.size > emit::kLargestFile) {
    out.data = emit::externalise(model, jobs, location, threshold);
    out.image = emit::image_of(model, jobs);
    if (out.data->pieces.empty()) out.data.reset();
  }
  if (out.image.layout.size <= emit::kLargestFile) return out;
  diagnostics
      .error(codes::kTooLarge,
             fmt::format("the result has {} bytes without the weights in its data file; an ONNX file holds at most {}",
                         out.image.layout.size, emit::kLargestFile))
      .in(output)
      .fix("put smaller weights into the data file too, with --threshold");
  return std::nullopt;
}

Written write_model(Model& model, const emit::WeightJobs& jobs, bool as_it_is, const std::string& output,
                    const Options& options, weights::CastRouter& router, const std::function<bool()>& confirm,
                    emit::WeightCache* cache, Diagnostics& diagnostics) {
  const std::string name = fs::path(output).filename().string(), location = name + ".data";
  OutputLayout layout;
  if (as_it_is) {
    layout.image.layout.size = model.file_size;  // a model already, whatever its size
  } else {
    auto made = lay_out(model, jobs, location, options.external_data, options.threshold, output, diagnostics);
    if (!made) return {};
    layout = std::move(*made);
  }
  auto& [image, data] = layout;
  sweep_output(output);
  emit::OutputFile file(output);
  const std::uint64_t bytes = image.layout.size + (data ? data->size : 0);
  Progress progress(!options.quiet);
  progress.begin("writing " + name, bytes, Progress::Unit::bytes);
  const auto add = [&](std::uint64_t done) { progress.add(done); };
  emit::OutputFile::CommitOptions commit;
  commit.write_if_changed = options.write_if_changed;
  if (as_it_is) {
    const auto& input = model.storage->file;
    file.set_size(model.file_size);
    if (!file.copy_from(input.fd(), 0, 0, model.file_size)) file.write_at(0, input.bytes());
    progress.clear();
    if (reports_changes(model, diagnostics) || !confirm()) return {};
    file.commit(commit);
    sweep_output(output);
    return {bytes, data.has_value()};
  }
  if (!data) {
    emit::write_image(image, jobs, file, router, add);
    progress.clear();
    if (reports_changes(model, diagnostics) || !confirm()) return {};
    if (cache != nullptr) keep(*cache, image, jobs, file);
    file.commit(commit);
    sweep_output(output);
    return {bytes, data.has_value()};
  }
  if (reports_links(output, diagnostics)) return {};
  emit::OutputFile data_file(data_path(output));
  emit::write_data(*data, jobs, data_file, router, add);
  emit::write_image(image, jobs, file, router, add);
  progress.clear();
  if (reports_changes(model, diagnostics) || !confirm()) return {};
  if (cache != nullptr) {
    keep(*cache, image, jobs, file);
    tbb::parallel_for_each(data->pieces, [&](const auto& p) { cache->store(jobs, p.job, data_file, p.offset); });
  }
  emit::commit_pair(data_file, file, commit, [&](emit::OutputFile& between, const std::string& data_name) {
    emit::relocate(*model.proto, location, data_name);
    emit::write_image(emit::image_of(model, jobs), jobs, between, router, {});
    emit::relocate(*model.proto, data_name, location);
  });
  sweep_output(output);
  return {bytes, data.has_value()};
}

}  // namespace ampc::driver
