// textDocument/completion: what may stand at the cursor, by the statement that is being written there.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ampc/lsp/context.h"
#include "ampc/lsp/feature.h"
#include "ampc/lsp/operator_text.h"
#include "ampc/lsp/words.h"

namespace ampc::lsp {
namespace {

namespace ast = lang::ast;
namespace fs = std::filesystem;

// Of CompletionItemKind.
constexpr int kFunction = 3, kField = 5, kClass = 7, kProperty = 10, kValue = 12, kEnum = 13, kKeyword = 14, kFile = 17,
              kFolder = 19, kType = 25, kVariable = 6;

bool one_of(std::string_view token, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

class Completion {
 public:
  explicit Completion(const Cursor& cursor)
      : cursor_(cursor),
        view_(cursor.view),
        c_(context_at(view_.document.text, cursor.offset)),
        range_(view_.lines.range(c_.word, cursor.offset)) {}

  Json run() {
    if (c_.string) {
      if (c_.head() == "import") paths();
    } else if (!c_.in_comment) {
      if (c_.statement.empty()) {
        c_.inside("pattern") ? parts_of_pattern() : beginning();
      } else {
        statement();
      }
    }
    return {{"isIncomplete", false}, {"items", std::move(items_)}};
  }

 private:
  void add(std::string_view label, int kind, std::string_view detail = {}, std::string_view documentation = {}) {
    if (label.empty() || !seen_.emplace(label).second) return;
    Json item = {{"label", label}, {"kind", kind}, {"textEdit", {{"range", range_}, {"newText", label}}}};
    if (!detail.empty()) item["detail"] = detail;
    if (!documentation.empty()) item["documentation"] = {{"kind", "markdown"}, {"value", documentation}};
    items_.push_back(std::move(item));
  }

  void add(std::span<const Word> words, int kind) {
    for (const Word& w : words) add(w.word, kind, {}, w.meaning);
  }

  void keywords(std::initializer_list<std::string_view> words) {
    for (const std::string_view w : words) add(w, kKeyword, {}, meaning_of(w));
  }

  // --- What stands anywhere ---

  void beginning() {
    if (c_.inside("level")) add(level_words(), kKeyword);
    add(statement_words(), kKeyword);
    for (const Setting& s : settings()) {
      if (one_of(s.key, {"default", "weights"})) continue;
      add(s.key, kProperty, "setting", s.meaning);
    }
    operators();
  }

  void operators() {
    const Operators& known = *view_.meaning.operators;
    for (const std::string_view domain : known.domains()) {
      for (const std::string_view name : known.operators(domain)) {
        const Signature& newest = *known.versions(domain, name).back();
        const std::string label = domain.empty() ? std::string(name) : fmt::format("{}::{}", domain, name);
        add(label, kClass,
            fmt::format("{}, since {}{}", domain.empty() ? "ai.onnx" : domain, newest.since_version,
                        newest.deprecated ? ", deprecated" : ""));
      }
    }
    each_statement([&](const ast::Statement& s) {
      if (const auto* alias = std::get_if<ast::Alias>(&s.node)) add(alias->name.text, kFunction, ast::print(s));
    });
  }

  template <typename Do>
  void each_statement(const Do& act) {
    for (const lang::Unit& unit : view_.meaning.program.units) {
      for (const ast::Statement& s : unit.file.statements) act(s);
    }
  }

  void levels() {
    each_statement([&](const ast::Statement& s) {
      if (const auto* level = std::get_if<ast::LevelDefinition>(&s.node)) add(level->name.text, kEnum, "level");
    });
  }

  void low_types() { add(find_setting("dtype")->values, kType); }

  void declared_types() {
    for (std::uint8_t i = 1; i <= kLastElemType; ++i) {
      const std::string_view name = short_name(static_cast<ElemType>(i));
      if (elem_type(name) != ElemType::undefined) add(name, kType);
    }
    for (const std::string_view other : {"float", "double", "any", "sequence", "optional", "map", "sparse"}) {
      add(other, kType);
    }
  }

  /// Files beside this one, in the folders for imports, and among the rules that came with the program.
  void paths() {
    const std::size_t slash = c_.string->rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : c_.string->substr(0, slash + 1);
    range_ = view_.lines.range(cursor_.offset - (c_.string->size() - folder.size()), cursor_.offset);
    std::vector<fs::path> places = {fs::path(view_.document.path).parent_path()};
    for (const std::string& dir : view_.options.import_dirs) places.emplace_back(dir);
    places.emplace_back(view_.options.installed_rules);
    for (const fs::path& place : places) {
      std::vector<std::pair<std::string, bool>> names;
      std::error_code error;
      for (fs::directory_iterator it(place / folder, error), end; !error && it != end; it.increment(error)) {
        std::error_code none;
        const bool is_folder = it->is_directory(none);
        const std::string name = it->path().filename().string();
        const bool own = identity(it->path().string()) == identity(view_.document.path);
        if ((is_folder && !name.starts_with('.')) || (it->path().extension() == ".amp" && !own))
          names.emplace_back(name, is_folder);
      }
      std::sort(names.begin(), names.end());
      for (const auto& [name, is_folder] : names) {
        add(is_folder ? name + "/" : name, is_folder ? kFolder : kFile, place.string());
      }
    }
  }

  // --- By statement ---

  void statement() {
    std::string_view head = c_.head();
    if (one_of(head, {"override", "sealed"})) {
      const std::size_t verb = c_.statement.size() > 1 && c_.statement[1] == "sealed" ? 2 : 1;
      if (c_.statement.size() == verb) {
        keywords({"allow", "deny", "follow", "unsupported", "leave", "extern", "pattern"});
        return operators();
      }
      c_.statement.erase(c_.statement.begin(), c_.statement.begin() + static_cast<std::ptrdiff_t>(verb));
      overriding_ = true;
      head = c_.head();
    }
    if (c_.inside("pattern")) return parts_of_pattern();
    if (one_of(head, {"allow", "deny", "follow", "unsupported", "leave"})) return list();
    if (one_of(head, {"bounded", "commutes", "moves", "collective"})) return operators();
    if (head == "optimizer") return optimizer();
    if (head == "alias") return alias();
    if (head == "extern") return declaration();
    if (head == "pattern") return pattern();
    if (one_of(head, {"tensor", "node", "weight", "guard", "scope", "block", "backward", "import"})) return names(head);
    if (!setting(head) && is_word(head)) role();
  }

  bool setting(std::string_view head) {
    const std::size_t size = c_.statement.size();
    if (head == "level" && size == 1) {
      levels();
      return true;
    }
    if (head == "rewrite" && size == 1) {
      for (const std::string_view name : {"creators", "moved", "redundant"}) {
        add(name, kProperty, {}, find_setting(fmt::format("rewrite {}", name))->meaning);
      }
      return true;
    }
    if (head == "on" && size == 1) {
      keywords({"conflict"});
      return true;
    }
    const bool two = one_of(head, {"rewrite", "on"});
    const Setting* s = find_setting(two ? fmt::format("{} {}", head, c_.statement[1]) : std::string(head));
    if (s != nullptr && size == (two ? 2 : 1)) add(s->values, kValue);
    return s != nullptr;
  }

  void list() {
    if (c_.has("where")) return condition(operators_between(1, "where"));
    const bool separated = one_of(c_.last(), {",", ":"}) || c_.statement.size() == 1;
    if (!separated) return keywords({"where"});
    if (c_.head() == "follow" && c_.statement.size() == 1) add(find_setting("follow")->values, kValue);
    if (!c_.has(":")) {
      levels();
      low_types();
    }
    operators();
  }

  /// Operators that the statement names, from a token on to one of a kind. Names that stand for none are passed over.
  std::vector<lang::Target> operators_between(std::size_t from, std::string_view to) const {
    std::vector<lang::Target> result;
    for (std::size_t i = from; i < c_.statement.size() && c_.statement[i] != to; ++i) {
      for (lang::Target& t : targets(c_.statement[i])) result.push_back(std::move(t));
    }
    return result;
  }

  std::vector<lang::Target> targets(const std::string& name) const {
    if (!is_word(name)) return {};
    ast::Op op;
    const std::size_t colons = name.find("::");
    op.qualified = colons != std::string::npos;
    op.domain = op.qualified ? name.substr(0, colons) : std::string();
    if (op.domain == "ai.onnx") op.domain.clear();
    op.name = op.qualified ? name.substr(colons + 2) : name;
    return view_.meaning.names->operators(op);
  }

  void operands(const std::vector<lang::Target>& targets, bool results) {
    for (const lang::Target& t : targets) {
      for (const std::string& name : lang::Names::operand_names(t, results)) {
        const auto formal = lang::Names::formal(t, name, results);
        add(name, kField, lang::spelling(t.op),
            formal && t.known() ? operand_text(t.versions, *formal, results) : std::string());
      }
    }
  }

  void condition(const std::vector<lang::Target>& targets) {
    if (c_.last() == "is") return add_properties();
    if (one_of(c_.last(), {"==", "!="}) && c_.has("type")) declared_types();
    operands(targets, false);
    if (c_.depth() > 0 && c_.last() == "(") {
      if (c_.statement.size() > 1 && one_of(c_.statement[c_.statement.size() - 2], {"rank", "dim", "size", "type"}))
        return;
    }
    for (const lang::Target& t : targets) {
      for (const std::string& name : lang::Names::attribute_names(t)) {
        add(name, kProperty, fmt::format("attribute of {}", lang::spelling(t.op)));
      }
    }
    add(condition_words(), kKeyword);
  }

  void add_properties() { keywords({"not", "weight", "constant", "given"}); }

  void role() {
    const bool results = c_.has("result");
    if (!results && !c_.has("arg")) {
      if (one_of(c_.last(), {",", ":"})) return operators();
      return keywords({"arg", "result"});
    }
    if (one_of(c_.last(), {"keep", "store"})) return add("fp32", kType);
    if (c_.last() == "exact") return keywords({"from"});
    if (c_.last() == "from") return keywords({"integers"});
    if (one_of(c_.last(), {"saturate", "factor", "fp32", "integers"})) return;
    if (one_of(c_.last(), {"arg", "result", ",", "except"}))
      return operands(operators_between(0, results ? "result" : "arg"), results);
    if (c_.last() == "*") keywords({"except"});
    keywords({"keep", "store", "exact", "saturate", "factor"});
  }

  void names(std::string_view head) {
    const std::string_view last = c_.last();
    if (head == "import") return last == "import" ? void() : keywords({"for"});
    if (one_of(last, {"keep", "store"})) return add("fp32", kType);
    if (head == "weight" && c_.has("where") && last != "fp32") {
      add(weight_measures(), kKeyword);
      return keywords({"and", "or", "not", "keep"});
    }
    if (last == "weight") return keywords({"where"});
    if (!last.ends_with('"') && !last.ends_with('/')) return;
    if (head == "backward") return keywords({"doc"});
    if (head == "block") return keywords({"nodes"});
    if (one_of(head, {"tensor", "node", "weight"})) keywords({"keep"});
    if (head == "tensor") keywords({"store", "scale"});
    if (head == "node") keywords({"low"});
  }

  void optimizer() {
    if (c_.statement.size() == 1) return operators();
    if (one_of(c_.last(), {"(", ","})) return operands(operators_between(1, "("), false);
    if (c_.depth() > 0 && c_.has(":")) add(optimizer_parts(), kKeyword);
  }

  void alias() {
    const auto equals = std::find(c_.statement.begin(), c_.statement.end(), "=");
    if (equals == c_.statement.end()) return;
    if (c_.depth() == 0) return operators();
    // The operator whose parenthesis is open.
    const auto open = static_cast<std::size_t>(std::find(c_.statement.rbegin(), c_.statement.rend(), "(").base() -
                                               c_.statement.begin() - 1);
    if (one_of(c_.last(), {"(", ","})) return operands(targets(c_.statement[open - 1]), false);
    for (auto it = c_.statement.begin(); it != equals; ++it) {
      if (c_.last() == ":" && is_word(*it) && it - c_.statement.begin() > 1) add(*it, kVariable, "parameter");
    }
  }

  void declaration() {
    if (c_.last() == ":" || c_.last() == "in" || (c_.last() == "," && c_.has("in") && c_.depth() == 0))
      return declared_types();
    if (c_.last() == ")") keywords({"where"});
    if (c_.depth() == 0 && c_.has("where")) keywords({"in", "and"});
  }

  void pattern() {
    if (overriding_ && c_.statement.size() == 1) {
      each_statement([&](const ast::Statement& s) {
        if (const auto* p = std::get_if<ast::GraphPattern>(&s.node)) add(p->name.text, kFunction, "pattern");
      });
    } else if (c_.last() == "}") {
      keywords({"keep", "low", "follow"});
    } else if (c_.last() == "keep") {
      add("fp32", kType);
    } else if (overriding_ && c_.statement.size() == 2) {
      keywords({"off"});
    } else if (c_.depth() == 0) {
      levels();
      low_types();
    }
  }

  /// Within a pattern's body: operators, and what its steps have named.
  void parts_of_pattern() {
    if (c_.has("where")) {
      std::vector<lang::Target> near;
      for (std::size_t i = 0; i < c_.statement.size() && c_.statement[i] != "where"; ++i) {
        if (i + 1 < c_.statement.size() && c_.statement[i + 1] == "(") near = targets(c_.statement[i]);
      }
      return condition(near);
    }
    if (c_.statement.empty()) return;
    // Of the steps before this one.
    for (std::size_t i = 0; i + c_.statement.size() < c_.pattern.size(); ++i) {
      const std::string& t = c_.pattern[i];
      const bool called = c_.pattern[i + 1] == "(";
      if (i > 0 && is_word(t) && !called && t != "_" && view_.meaning.operators->versions("", t).empty() &&
          c_.depth() > 0)
        add(t, kVariable, "value of the pattern");
    }
    if (c_.last() == ")") return keywords({"where"});
    operators();
  }

  const Cursor& cursor_;
  const View& view_;
  Context c_;
  Json range_;
  Json items_ = Json::array();
  std::set<std::string, std::less<>> seen_;
  bool overriding_ = false;
};

}  // namespace

Json completion(const Cursor& cursor) { return Completion(cursor).run(); }

}  // namespace ampc::lsp
