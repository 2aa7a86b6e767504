// `ampc doc FILE…`: Markdown of what rule files say of themselves.
#include <cstring>
#include <filesystem>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/codes.h"
#include "ampc/diag/model_codes.h"
#include "ampc/driver/command.h"
#include "ampc/driver/report.h"
#include "ampc/emit/output_file.h"
#include "ampc/lang/doc_page.h"
#include "ampc/lang/program.h"

namespace ampc::driver {
namespace {

namespace fs = std::filesystem;

struct DocOptions {
  std::vector<std::string> files;
  std::string output = "-";
  ReportOptions report;
};

fs::path absolute(const std::string& path) {
  std::error_code error;
  const fs::path result = fs::weakly_canonical(path, error);
  return error ? fs::path(path).lexically_normal() : result;
}

class Documenter {
 public:
  Documenter(DocOptions options, const Streams& streams) : o_(std::move(options)), s_(streams) {}

  int run() {
    for (const std::string& path : o_.files) {
      if (auto tree = lang::load_one(path, sources_, diagnostics_)) {
        if (places_.try_emplace(absolute(path), pages_.size()).second) pages_.push_back({path, std::move(*tree), {}});
      }
    }
    if (!diagnostics_.failed()) write();
    report(s_.err, diagnostics_, sources_, o_.report);
    return diagnostics_.failed() ? kWrongInput : kOk;
  }

 private:
  struct Document {
    std::string path;
    lang::ast::File tree;
    fs::path page;  // where it is written
  };

  void write() {
    if (o_.output == "-") {
      for (const Document& d : pages_) {
        s_.out << (&d == pages_.data() ? "" : "\n")
               << lang::doc_page(d.tree, sources_, {d.path, d.path, [](const auto&) { return std::string(); }});
      }
      return;
    }
    const fs::path folder = absolute(o_.output);
    const fs::path common = common_folder();
    for (Document& d : pages_) d.page = folder / (absolute(d.path).lexically_relative(common).string() + ".md");
    for (const Document& d : pages_) {
      const fs::path from = d.page.parent_path();
      const auto page = [&](const std::string& import) {
        const auto found = places_.find(absolute((fs::path(d.path).parent_path() / import).string()));
        return found == places_.end() ? "" : pages_[found->second].page.lexically_relative(from).string();
      };
      put(d, lang::doc_page(d.tree, sources_,
                            {absolute(d.path).lexically_relative(common).string(),
                             absolute(d.path).lexically_relative(from).string(), page}));
    }
  }

  /// The folder that holds all files, so that no two pages have one name.
  fs::path common_folder() const {
    fs::path common = absolute(pages_.front().path).parent_path();
    for (const Document& d : pages_) {
      const fs::path path = absolute(d.path);
      while (path.lexically_relative(common).string().starts_with("..")) common = common.parent_path();
    }
    return common;
  }

  void put(const Document& d, const std::string& text) {
    std::error_code error;
    fs::create_directories(d.page.parent_path(), error);
    try {
      emit::OutputFile out(d.page.string());
      out.set_size(text.size());
      out.write_at(0, std::as_bytes(std::span(text)));
      out.commit();
    } catch (const IoError& e) {
      diagnostics_.error(codes::kCannotWrite, fmt::format("{}: {}", e.message(), std::strerror(e.code())))
          .in((fs::path(o_.output) / d.page.lexically_relative(absolute(o_.output))).string());
    }
  }

  DocOptions o_;
  const Streams& s_;
  SourceMap sources_;
  Diagnostics diagnostics_;
  std::vector<Document> pages_;
  std::map<fs::path, std::size_t> places_;
};

}  // namespace

int doc_command(const Arguments& args, const Streams& streams) {
  DocOptions o;
  CLI::App app("Writes what rule files say of themselves in /// comments, and their statements, as Markdown.",
               "ampc doc");
  app.add_option("FILE", o.files, "Rule files; a page each")->required();
  app.add_option("-o,--output", o.output, "Folder for the pages, FILE.md; - prints them")
      ->type_name("DIR")
      ->capture_default_str();
  add_report_options(app, o.report);
  app.footer(
      "/// stands above the statement that it documents; above `amp 1`, or below it with a blank line behind, it is\n"
      "about the file. What it says is Markdown. Example: ampc doc rules/*.amp -o docs/rules");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  return Documenter(std::move(o), streams).run();
}

}  // namespace ampc::driver
