#include "ampc/model/external.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/storage.h"
#include "ampc/model/tensors.h"

namespace ampc::external {
namespace {

namespace fs = std::filesystem;

struct Reference {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

class Attacher {
 public:
  Attacher(Model& m, Diagnostics& diagnostics) : m_(m), diagnostics_(diagnostics) {
    folder_ = fs::path(m.path).parent_path();
    std::error_code ignored;
    real_folder_ = fs::weakly_canonical(folder_.empty() ? fs::path(".") : folder_, ignored);
    // A sandbox of a build tool, or a cache of downloads, links to the model and to its data alike: then the data lies
    // in the folder of what the model is a link to.
    linked_folder_ = fs::weakly_canonical(m.path, ignored).parent_path();
  }

  void tensor(onnx::TensorProto& t) {
    if (t.data_location() != onnx::TensorProto::EXTERNAL) return;
    const auto where = fmt::format("{}: tensor '{}'", m_.path, t.name());
    const auto reference = read(t, where);
    if (!reference) return;
    const MappedFile* file = open(*reference, where);
    if (file == nullptr) return;
    const auto count = tensors::element_count(t);
    const std::size_t width = byte_size(static_cast<ElemType>(t.data_type()));
    const std::uint64_t size = file->bytes().size();
    const std::uint64_t rest = reference->offset <= size ? size - reference->offset : 0;
    const std::uint64_t length = reference->length.value_or(count && width != 0 ? *count * width : rest);
    if (reference->offset > size || length > rest) {
      diagnostics_
          .error(codes::kExternalMissing,
                 fmt::format("external data file '{}' is too short: the tensor lies at bytes {} to {}, the file has {}",
                             reference->location, reference->offset, reference->offset + length, size))
          .in(where)
          .fix("copy the whole data file beside the model again");
      return;
    }
    t.clear_external_data();
    t.clear_data_location();
    t.set_raw_data(wire::marker(m_.payloads.size()));
    m_.payloads.push_back(file->bytes().subspan(reference->offset, length));
    m_.has_external = true;
  }

  void finish() {
    for (const auto& [location, file] : files_) m_.external_files.push_back((folder_ / location).string());
    std::sort(m_.external_files.begin(), m_.external_files.end());
  }

 private:
  std::optional<Reference> read(const onnx::TensorProto& t, const std::string& where) {
    Reference r;
    bool numbers_ok = true;
    for (const auto& e : t.external_data()) {
      std::uint64_t n = 0;
      const auto number = [&] {
        const auto [end, error] = std::from_chars(e.value().data(), e.value().data() + e.value().size(), n);
        numbers_ok &= error == std::errc{} && end == e.value().data() + e.value().size();
        return n;
      };
      if (e.key() == "location") r.location = e.value();
      if (e.key() == "offset") r.offset = number();
      if (e.key() == "length") r.length = number();
    }
    if (!numbers_ok || r.location.empty()) {
      diagnostics_
          .error(codes::kExternalMissing,
                 "the tensor's external data has no location, or an offset or length that is no number")
          .in(where);
      return std::nullopt;
    }
    return r;
  }

  /// nullptr where it cannot be, which the first tensor in it has told.
  const MappedFile* open(const Reference& r, const std::string& where) {
    const auto [known, fresh] = files_.try_emplace(r.location, nullptr);
    if (fresh) known->second = map(r, where);
    return known->second;
  }

  static bool below(const fs::path& folder, const fs::path& file) {
    return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
  }

  const MappedFile* map(const Reference& r, const std::string& where) {
    const fs::path relative(r.location);
    bool escapes = relative.is_absolute();
    for (const auto& part : relative) escapes |= part == "..";
    const fs::path path = folder_ / relative;
    std::error_code error;
    const fs::path real = fs::weakly_canonical(path, error);
    if (!escapes && !error) escapes = !below(real_folder_, real) && !below(linked_folder_, real);
    if (escapes) {
      diagnostics_
          .error(codes::kExternalEscapes, fmt::format("external data path '{}' leaves the model's folder", r.location))
          .in(where)
          .fix("ONNX allows only paths below the folder of the model; move the data file there");
      return nullptr;
    }
    try {
      m_.storage->external.emplace_back(path.string());
    } catch (const std::system_error& e) {
      auto& d = diagnostics_.error(
          codes::kExternalMissing,
          fmt::format("cannot read external data file '{}': {}", path.string(), std::strerror(e.code().value())));
      d.in(where).fix("the weights of this model lie in a file of their own: copy it beside the model");
      const fs::path beside = fs::weakly_canonical(m_.path, error).parent_path() / relative;
      if (fs::is_symlink(m_.path, error) && fs::exists(beside, error)) {
        d.fix(fmt::format("data is looked for beside the model as it is named, which is a symbolic link: name '{}'",
                          fs::read_symlink(m_.path, error).string()));
      }
      return nullptr;
    }
    return &m_.storage->external.back();
  }

  Model& m_;
  Diagnostics& diagnostics_;
  fs::path folder_, real_folder_, linked_folder_;
  std::map<std::string, const MappedFile*> files_;
};

}  // namespace

bool attach(Model& m, Diagnostics& diagnostics) {
  Attacher attacher(m, diagnostics);
  tensors::for_each(*m.proto, [&](onnx::TensorProto& t) { attacher.tensor(t); });
  attacher.finish();
  return !diagnostics.failed();
}

}  // namespace ampc::external
