// A model and its data file, which must appear together.
#pragma once

#include <functional>
#include <string>

#include "ampc/emit/output_file.h"

namespace ampc::emit {

/// Puts `data` and `model` in their places so that at each moment, whatever ends the run, the model that is there finds
/// the data that it was written with. Two renames can't do that where an older pair has the same names: then a model
/// that refers to the data by its temporary name stands in between. `bridge` writes that model into the file that it is
/// given, with the data called by the name that it is given. On a file system without hard links the data comes first,
/// and then the model. Throws IoError.
OutputFile::Outcome commit_pair(OutputFile& data, OutputFile& model, const OutputFile::CommitOptions& options,
                                const std::function<void(OutputFile&, const std::string&)>& bridge);

}  // namespace ampc::emit
