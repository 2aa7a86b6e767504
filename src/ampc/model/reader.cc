// File to Model: map, cut, parse, attach external data, convert, expand calls of functions, build.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include "onnx/onnx_pb.h"

#include "ampc/diag/model_codes.h"
#include "ampc/model/builder.h"
#include "ampc/model/convert_opset.h"
#include "ampc/model/external.h"
#include "ampc/model/functions.h"
#include "ampc/model/model.h"
#include "ampc/model/storage.h"

namespace ampc {
namespace {

constexpr std::int64_t kOldestIr = 3;
constexpr std::int64_t kNewestIr = onnx::Version::IR_VERSION;
constexpr std::int64_t kOldestOpset = 7;

std::string what_it_is(wire::Bytes bytes) {
  if (bytes.empty()) return "the file is empty";
  const std::size_t sample = std::min<std::size_t>(bytes.size(), 4096);
  std::size_t printable = 0;
  for (std::size_t i = 0; i < sample; ++i) {
    const auto c = std::to_integer<unsigned char>(bytes[i]);
    if ((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' || c == '\r') ++printable;
  }
  if (printable == sample) return "this is a text file, not an ONNX model";
  return {};
}

bool parse(Model& m, Diagnostics& diagnostics) {
  const wire::Bytes bytes = m.storage->file.bytes();
  m.file_size = bytes.size();
  auto& d = m.storage;
  const auto broken = [&](std::string message) -> bool {
    if (std::string kind = what_it_is(bytes); !kind.empty()) message = std::move(kind);
    diagnostics.error(codes::kNotOnnx, std::move(message)).in(m.path).fix("give a file that onnx.checker accepts");
    return false;
  };
  if (bytes.empty()) return broken({});
  // Of the weights' pages, a kernel may map 2 MiB for each that is touched.
  const std::size_t step = std::max(bytes.size() / 64, std::size_t{4} << 20);
  std::size_t gone = 0;
  const auto passed = [&](std::size_t offset) {
    if (offset - gone < step) return;
    d->file.let_go(gone, offset);
    gone = offset;
  };
  try {
    d->skeleton = wire::cut(bytes, m.payloads, passed);
    d->file.let_go(gone, bytes.size());
  } catch (const wire::Malformed& e) {
    return broken(fmt::format("the model {} at byte {} of {}: it is truncated, or no ONNX model", e.what(), e.offset,
                              bytes.size()));
  }
  m.proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&d->arena);
  google::protobuf::io::ArrayInputStream in(d->skeleton.data(), static_cast<int>(d->skeleton.size()));
  google::protobuf::io::CodedInputStream coded(&in);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  coded.SetRecursionLimit(1000);  // Ifs in Ifs in Ifs
  if (!m.proto->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return broken("the bytes are no ONNX model");
  }
  d->skeleton.clear();
  d->skeleton.shrink_to_fit();
  if (!m.proto->has_graph() || m.proto->opset_import_size() == 0) {
    return broken("the bytes are no ONNX model: there is no graph or no opset in it");
  }
  return true;
}

template <typename Nodes>
void add_domains(const Nodes& nodes, std::set<std::string>& domains) {
  for (const onnx::NodeProto& n : nodes) {
    if (!n.domain().empty() && !domains.contains(n.domain())) domains.insert(n.domain());
    for (const onnx::AttributeProto& a : n.attribute()) {
      if (a.has_g()) add_domains(a.g().node(), domains);
      for (const onnx::GraphProto& g : a.graphs()) add_domains(g.node(), domains);
    }
  }
}

/// Domains of the operators that the model uses; those that it only imports are many, where an optimizer wrote it.
std::set<std::string> domains_of(const onnx::ModelProto& model) {
  std::set<std::string> domains;
  const bool others = std::any_of(model.opset_import().begin(), model.opset_import().end(),
                                  [](const auto& import) { return !Schemas::get().has_domain(import.domain()); });
  if (!others && model.functions().empty()) return domains;
  add_domains(model.graph().node(), domains);
  for (const onnx::FunctionProto& f : model.functions()) add_domains(f.node(), domains);
  return domains;
}

bool check_versions(const Model& m, Diagnostics& diagnostics) {
  const std::int64_t ir = m.proto->ir_version();
  if (ir < kOldestIr || ir > kNewestIr) {
    diagnostics
        .error(codes::kUnknownVersion,
               fmt::format("the model's IR version is {}; this compiler reads {} to {}", ir, kOldestIr, kNewestIr))
        .in(m.path);
  }
  const auto check = [&](const auto& imports, const std::string& who) {
    for (const auto& import : imports) {
      const int newest = Schemas::get().newest(import.domain());
      const bool main_domain = import.domain().empty() || import.domain() == "ai.onnx";
      if (newest != 0 && (import.version() > newest || (main_domain && import.version() < kOldestOpset))) {
        diagnostics
            .error(codes::kUnknownVersion,
                   fmt::format("{} imports opset {} of {}; this compiler knows {} to {}", who, import.version(),
                               main_domain ? "ai.onnx" : import.domain(), main_domain ? kOldestOpset : 1, newest))
            .in(m.path)
            .fix("convert the model with onnx's version converter first");
      }
    }
  };
  check(m.proto->opset_import(), "the model");
  for (const auto& f : m.proto->functions()) check(f.opset_import(), fmt::format("the function '{}'", f.name()));
  return !diagnostics.failed();
}

}  // namespace

std::unique_ptr<Model> read_model(const std::string& path, Diagnostics& diagnostics,
                                  const std::function<void(const std::set<std::string>&)>& domains, int opset) {
  auto m = std::make_unique<Model>();
  m->path = path;
  try {
    m->storage->file = MappedFile(path);
  } catch (const std::system_error& e) {
    const int error = e.code().value();
    const std::string what = error == EISDIR   ? std::string("this is a folder, not a model file")
                             : error == EINVAL ? std::string("this is no regular file, and cannot be mapped")
                                               : fmt::format("cannot read the model: {}", std::strerror(error));
    auto& d = diagnostics.error(codes::kCannotRead, what).in(path);
    if (error == EISDIR) d.fix("name the .onnx file in it");
    if (error == EINVAL) d.fix("write the model to a file first");
    if (error == ENOENT) d.fix("the model comes after the rules: ampc RULES MODEL");
    return nullptr;
  }
  if (!parse(*m, diagnostics)) return nullptr;
  if (domains) domains(domains_of(*m->proto));
  if (!check_versions(*m, diagnostics)) return nullptr;
  if (!external::attach(*m, diagnostics)) return nullptr;
  m->storage->sort_files();
  if (opset != 0 && !convert_opset(*m, opset, diagnostics)) return nullptr;
  functions::expand_calls(*m, diagnostics);
  if (diagnostics.failed()) return nullptr;
  bool sorted = false;
  if (!build_arrays(*m, diagnostics, sorted)) return nullptr;
  if (!sorted) return m;
  auto again = std::make_unique<Model>();
  again->path = std::move(m->path);
  again->storage = std::move(m->storage);
  again->proto = m->proto;
  again->payloads = std::move(m->payloads);
  again->external_files = std::move(m->external_files);
  again->file_size = m->file_size;
  again->calls = std::move(m->calls);
  again->has_external = m->has_external;
  again->rewritten = true;
  return build_arrays(*again, diagnostics, sorted) ? std::move(again) : nullptr;
}

}  // namespace ampc
