// textDocument/codeAction: what `ampc check --fix` would write, one diagnostic at a time or all of them.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ampc/diag/mend.h"
#include "ampc/lang/rule_set.h"
#include "ampc/lsp/feature.h"

namespace ampc::lsp {
namespace {

constexpr std::string_view kQuickFix = "quickfix";
constexpr std::string_view kFixAll = "source.fixAll.ampc";

/// The first line of a text, as a title can show it.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  while (text.starts_with('\n') || text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const bool whole = end == text.size() && end <= kMost;
  std::size_t cut = std::min(end, kMost);
  while (cut > 0 && cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xc0U) == 0x80U) --cut;
  return "'" + std::string(text.substr(0, cut)) + (whole ? "'" : "…'");
}

std::string title_of(const std::vector<Edit>& edits, std::string_view text) {
  std::string title;
  for (const Edit& e : edits) {
    const std::string_view before = text.substr(e.span.begin, e.span.end - e.span.begin);
    if (!title.empty()) title += ", ";
    title += before.empty()   ? "write " + shown(e.text)
             : e.text.empty() ? "remove " + shown(before)
                              : fmt::format("replace {} by {}", shown(before), shown(e.text));
  }
  return title;
}

class Actions {
 public:
  explicit Actions(const ActionRequest& request)
      : r_(request), text_(r_.document.text), lines_(r_.document.lines(r_.encoding)) {
    const Json& range = r_.params.at("range");
    begin_ = lines_.offset(range.at("start"));
    end_ = lines_.offset(range.at("end"));
  }

  Json run() {
    if (wants(kQuickFix, true)) {
      // What the file's own check tells first; a file that imports it may know more.
      add_of(r_.document.uri);
      for (const auto& [uri, checked] : r_.workspace.checked()) {
        if (uri != r_.document.uri) add_of(uri);
      }
    }
    // It checks the text again, so that it is not offered with every move of a cursor.
    if (wants(kFixAll, false)) add_fix_all();
    return result_;
  }

 private:
  /// Kinds are paths: who asks for `source` means what stands below it too.
  bool wants(std::string_view kind, bool unless_said) const {
    const Json& context = r_.params.at("context");
    if (!context.contains("only") || context["only"].is_null()) return unless_said;
    return std::any_of(context["only"].begin(), context["only"].end(), [&](const Json& only) {
      const auto& wanted = only.get_ref<const std::string&>();
      return wanted.empty() || kind == wanted || kind.starts_with(wanted + ".");
    });
  }

  void add_of(const std::string& root) {
    const auto at = r_.workspace.checked().find(root);
    if (at == r_.workspace.checked().end() || at->second == nullptr) return;
    const Checked& checked = *at->second;
    for (const Diagnostic* d : checked.diagnostics.sorted(checked.sources)) add(*d, checked.sources);
  }

  void add(const Diagnostic& d, const SourceMap& sources) {
    if (d.edits.empty() || !d.span.valid() || d.span.begin > end_ || d.span.end < begin_) return;
    const auto here = [&](const Span& span) {
      return span.file == d.span.file && r_.documents.uri(sources.path(span.file)) == r_.document.uri;
    };
    if (!std::all_of(d.edits.begin(), d.edits.end(), [&](const Edit& e) { return here(e.span); })) return;
    const std::vector<Edit> edits = edits_of(d, text_);
    Json changes = Json::array();
    for (const Edit& e : edits) {
      changes.push_back({{"range", lines_.range(e.span.begin, e.span.end)}, {"newText", e.text}});
    }
    if (!seen_.insert(changes.dump()).second) return;
    Json action = action_of(title_of(edits, text_), kQuickFix, std::move(changes));
    action["isPreferred"] = true;
    for (const Json& known : r_.params["context"].value("diagnostics", Json::array())) {
      if (known.value("code", Json()) == d.code && known.at("range") == lines_.range(d.span.begin, d.span.end)) {
        action["diagnostics"].push_back(known);
      }
    }
    result_.push_back(std::move(action));
  }

  void add_fix_all() {
    lang::CompileOptions options = r_.options;
    const Mended mended = mend_in_rounds(text_, [&](const std::string& now) {
      SourceMap sources;
      Diagnostics diagnostics;
      options.root_text = now;
      lang::compile(r_.document.path, options, sources, diagnostics);
      return mend(now, kRootFile, diagnostics.sorted(sources));
    });
    if (mended.fixes == 0) return;
    result_.push_back(action_of(fmt::format("mend all that is sure ({})", mended.fixes), kFixAll,
                                edits_between(lines_, text_, mended.text)));
  }

  Json action_of(std::string title, std::string_view kind, Json edits) const {
    return {
        {"title", std::move(title)}, {"kind", kind}, {"edit", {{"changes", {{r_.document.uri, std::move(edits)}}}}}};
  }

  const ActionRequest& r_;
  const std::string& text_;
  const Lines lines_;
  std::size_t begin_ = 0, end_ = 0;
  std::set<std::string> seen_;
  Json result_ = Json::array();
};

}  // namespace

Json code_actions(const ActionRequest& request) { return Actions(request).run(); }

}  // namespace ampc::lsp
