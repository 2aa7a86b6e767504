#include "ampc/lang/names.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/places.h"

namespace ampc::lang {

namespace {

const std::vector<Formal>& formals(const Signature& version, bool results) {
  return results ? version.outputs : version.inputs;
}

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

std::string spelling(const OpName& op) { return op.domain.empty() ? op.name : op.domain + "::" + op.name; }

Names::Names(const Program& program, const Operators& operators, const CompileOptions& options,
             Diagnostics& diagnostics)
    : program_(program), operators_(operators), options_(options), diagnostics_(diagnostics) {
  for (const Unit& unit : program.units) {
    lost_.insert(unit.file.lost.begin(), unit.file.lost.end());
    for (const ast::Statement& s : unit.file.statements) {
      const auto* declaration = std::get_if<ast::Extern>(&s.node);
      if (declaration == nullptr || !operators.versions(declaration->op.domain, declaration->op.name).empty()) continue;
      lost_.insert(spelling(OpName{declaration->op.domain, declaration->op.name}));
    }
  }
  for (const Unit& unit : program.units) {
    for (const ast::Statement& s : unit.file.statements) {
      if (const auto* alias = std::get_if<ast::Alias>(&s.node)) define(*alias);
    }
  }
}

void Names::define(const ast::Alias& alias) {
  Definition definition;
  definition.alias = &alias;
  const std::string& name = alias.name.text;
  if (!operators_.versions("", name).empty()) {
    diagnostics_.error(codes::kAliasHidesOperator, "the alias " + quote(name) + " would hide the operator of that name")
        .at(alias.name.span)
        .fix("give it a name that no operator has; frontends' names begin with a small letter");
    return;
  }
  std::set<std::string> parameters;
  definition.meaning += alias.has_parameters ? "(" : "";
  for (const ast::Word& p : alias.parameters) {
    definition.meaning += p.text + ",";
    if (!parameters.insert(p.text).second) {
      diagnostics_
          .error(codes::kDefinedTwice, "the alias " + quote(name) + " lists the parameter " + quote(p.text) + " twice")
          .at(p.span)
          .fix("give one of the two another name");
    }
  }
  for (const ast::AliasTarget& t : alias.targets) {
    auto target = this->target(t.op);
    if (!target && !t.op.qualified && is_alias(t.op.name)) {
      diagnostics_.error(codes::kNoSuchOperator, quote(t.op.name) + " is an alias itself")
          .at(t.op.span)
          .fix("an alias stands for operators: write those that " + quote(t.op.name) + " stands for");
      continue;
    }
    if (!target) {
      report_unknown(t.op);
      continue;
    }
    target->alias = &alias;
    for (const ast::Binding& b : t.bindings) {
      if (!parameters.contains(b.parameter.text)) {
        auto& d =
            diagnostics_.error(codes::kUnknownParameter, quote(name) + " has no parameter " + quote(b.parameter.text))
                .at(b.parameter.span)
                .also(alias.name.span, "the alias");
        if (!suggest(d, b.parameter.text, std::vector<std::string>{parameters.begin(), parameters.end()})) {
          d.fix("list it behind the alias's name: " + name + "(..., " + b.parameter.text + ")");
        }
        continue;
      }
      Target plain = *target;
      plain.alias = nullptr;
      const auto ref = operand(plain, {std::nullopt, b.formal.text, b.formal.span}, false);
      if (!ref) continue;
      if (std::any_of(target->parameters.begin(), target->parameters.end(),
                      [&](const auto& bound) { return bound.second == b.formal.text; })) {
        diagnostics_
            .error(codes::kDefinedTwice,
                   "the operand " + quote(b.formal.text) + " of " + spelling(target->op) + " is bound twice")
            .at(b.formal.span)
            .fix("an operand has one parameter");
        continue;
      }
      if (!target->parameters.emplace(b.parameter.text, b.formal.text).second) {
        diagnostics_
            .error(codes::kDefinedTwice,
                   "the parameter " + quote(b.parameter.text) + " stands for two operands of " + spelling(target->op))
            .at(b.parameter.span)
            .fix("give each operand a parameter of its own");
      }
    }
    definition.meaning += ")=" + spelling(target->op);
    for (const auto& [parameter, formal] : target->parameters) {
      definition.meaning.append(" ").append(formal).append(":").append(parameter);
    }
    definition.targets.push_back(std::move(*target));
  }
  const auto [it, fresh] = aliases_.try_emplace(name, std::move(definition));
  if (fresh) return;
  if (it->second.meaning == definition.meaning) return;  // two frontends agree
  const Span& other = it->second.alias->name.span;
  auto& d = diagnostics_.error(codes::kDefinedTwice, "the alias " + quote(name) + " has two meanings")
                .at(alias.name.span, "here it means something else")
                .also(other, "and here")
                .fix(alias.name.span.file == other.file ? "give one of the two another name"
                                                        : "import one of the two files, or rename one alias");
  show_imports(d, program_, unit_of(program_, alias.name.span.file), unit_of(program_, other.file));
}

bool Names::is_alias(const std::string& name) const {
  for (const Unit& unit : program_.units) {
    for (const ast::Statement& s : unit.file.statements) {
      const auto* alias = std::get_if<ast::Alias>(&s.node);
      if (alias != nullptr && alias->name.text == name) return true;
    }
  }
  return false;
}

std::optional<Target> Names::target(const ast::Op& op) const {
  Target result;
  result.op = {op.domain, op.name};
  result.versions = operators_.versions(op.domain, op.name);
  if (!result.versions.empty()) return result;
  // Domains that onnx has no schemas for are taken as they stand.
  if (op.qualified && !Schemas::get().has_domain(op.domain)) return result;
  return std::nullopt;
}

std::vector<Target> Names::operators(const ast::Op& op) const {
  if (!op.qualified) {
    if (const auto it = aliases_.find(op.name); it != aliases_.end()) return it->second.targets;
  }
  if (auto one = target(op)) {
    if (!one->known() && !warn_if_nearly_a_domain(op)) warn_if_nearly_declared(op);
    return {std::move(*one)};
  }
  report_unknown(op);
  return {};
}

// Domains that nothing is known of are taken as they stand, but `ai.onx::MatMul` is a slip.
bool Names::warn_if_nearly_a_domain(const ast::Op& op) const {
  if (program_.incomplete || !operators_.operators(op.domain).empty()) return false;
  std::optional<std::string> near;
  for (const std::string_view known : operators_.domains()) {
    constexpr std::size_t kFarthest = 2;  // letters
    const std::string domain(known.empty() ? "ai.onnx" : known);
    const bool alike = edit_distance(op.domain, domain, kFarthest) <= kFarthest || domain.ends_with("." + op.domain);
    if (alike && !operators_.versions(known, op.name).empty() && (!near || domain < *near)) near = domain;
  }
  if (!near) return false;
  diagnostics_.warning(codes::kNearlyDeclared, "nothing is known of a domain " + quote(op.domain))
      .at(op.span, "did you mean " + quote(*near == "ai.onnx" ? op.name : *near + "::" + op.name) + "?")
      .fix("an operator of your own is declared: extern " + op.domain + "::" + op.name + "(...) -> (...)");
  return true;
}

// Whoever declares some operators of a domain may leave others out, but not by a slip of the pen.
void Names::warn_if_nearly_declared(const ast::Op& op) const {
  const auto names = operators_.operators(op.domain);
  const auto near = nearest(op.name, names);
  if (!near) return;
  auto& d =
      diagnostics_.warning(codes::kNearlyDeclared, quote(spelling(OpName{op.domain, op.name})) + " is not declared")
          .at(op.span)
          .also(operators_.versions(op.domain, *near).front()->declared, "declared here");
  suggest(d, op.name, names, op.domain + "::");
}

void Names::report_unknown(const ast::Op& op) const {
  const bool alias_like = !op.qualified && op.name[0] >= 'a' && op.name[0] <= 'z';
  if (is_lost(spelling(OpName{op.domain, op.name})) || (program_.incomplete && alias_like)) return;
  std::string message = "no operator is called " + quote(op.name);
  if (op.qualified)
    message = "the domain " + quote(op.domain.empty() ? "ai.onnx" : op.domain) + " has no operator " + quote(op.name);
  auto& d = diagnostics_.error(codes::kNoSuchOperator, message).at(op.span);
  std::vector<std::string_view> names = operators_.operators(op.domain);
  if (!op.qualified) {
    for (const auto& [name, definition] : aliases_) names.push_back(name);
  }
  std::vector<std::string_view> homes;  // domains that have it
  for (const std::string_view domain : operators_.domains()) {
    if (domain != op.domain && !operators_.versions(domain, op.name).empty()) homes.push_back(domain);
  }
  if (!homes.empty()) {
    const std::string_view domain = homes.front();
    const std::string whole = domain.empty() ? op.name : std::string(domain) + "::" + op.name;
    d.fix("the domain '" + std::string(domain.empty() ? "ai.onnx" : domain) + "' has one: write " + whole);
    if (homes.size() == 1) d.edit(op.span, whole);
    return;
  }
  if (op.qualified && aliases_.contains(op.name)) d.note("an alias has this name, but belongs to no domain");
  std::string file;
  if (!op.qualified && offered_elsewhere(op.name, &file)) {
    d.fix("it is an alias that " + file + " defines: import \"" + file + "\"");
    return;
  }
  const std::string before = op.qualified ? (op.domain.empty() ? "ai.onnx" : op.domain) + "::" : std::string();
  if (suggest(d, op.name, names, before)) return;
  if (op.qualified) {
    d.fix("an operator of your own belongs in a domain of your own: com.acme::" + op.name);
    return;
  }
  if (const std::size_t point = op.name.rfind('.'); point != std::string::npos && point + 1 < op.name.size()) {
    d.fix("a domain and its operator are joined by '::': " + op.name.substr(0, point) +
          "::" + op.name.substr(point + 1));
    return;
  }
  const bool capital = op.name[0] >= 'A' && op.name[0] <= 'Z';  // as every operator's name begins
  d.fix(capital ? "an operator of another domain is written with it: com.microsoft::" + op.name
                : "write the ONNX operator's name, or define what this stands for: alias " + op.name + " = ...");
}

bool Names::offered_elsewhere(const std::string& name, std::string* file) const {
  namespace fs = std::filesystem;
  std::vector<std::string> folders;
  if (!program_.units.empty()) folders.push_back(fs::path(program_.units[0].path).parent_path().string());
  folders.insert(folders.end(), options_.import_dirs.begin(), options_.import_dirs.end());
  if (!options_.installed_rules.empty()) folders.push_back(options_.installed_rules);
  for (const std::string& folder : folders) {
    std::vector<std::string> files;
    std::error_code error;
    const fs::path frontends = (folder.empty() ? fs::path(".") : fs::path(folder)) / "frontends";
    for (fs::directory_iterator it(frontends, error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".amp") files.push_back(it->path().filename().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& candidate : files) {
      SourceMap sources;
      Diagnostics ignored;
      const auto parsed = load_one((frontends / candidate).string(), sources, ignored);
      if (!parsed) continue;
      for (const ast::Statement& s : parsed->statements) {
        const auto* alias = std::get_if<ast::Alias>(&s.node);
        if (alias == nullptr || alias->name.text != name) continue;
        *file = "frontends/" + candidate;
        return true;
      }
    }
  }
  return false;
}

std::string Names::declaration_of(const OpName& op) const {
  const std::string file = "domains/" + op.domain + ".amp";
  const std::string root = program_.units.empty() ? std::string() : program_.units[0].path;
  for (const std::string& path : import_candidates(root, file, options_)) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return "import \"" + file + "\", which declares operators of the domain";
  }
  return "declare the operator: extern " + spelling(op) + "(...) -> (...)";
}

std::vector<std::string> Names::operand_names(const Target& target, bool results) {
  std::vector<std::string> names;
  if (!results && target.has_parameters()) {
    for (const ast::Word& p : target.alias->parameters) names.push_back(p.text);
  }
  for (const Signature* version : target.versions) {
    for (const Formal& f : formals(*version, results)) names.push_back(f.name);
  }
  std::vector<std::string> unique;
  for (std::string& name : names) {
    if (std::find(unique.begin(), unique.end(), name) == unique.end()) unique.push_back(std::move(name));
  }
  return unique;
}

std::vector<std::string> Names::attribute_names(const Target& target) {
  std::set<std::string> names;
  for (const Signature* version : target.versions) {
    for (const AttrFormal& a : version->attributes) names.insert(a.name);
  }
  return {names.begin(), names.end()};
}

std::optional<std::string> Names::formal(const Target& target, const std::string& name, bool results) {
  if (!results && target.has_parameters()) {
    if (const auto it = target.parameters.find(name); it != target.parameters.end()) return it->second;
    for (const ast::Word& p : target.alias->parameters) {
      if (p.text == name) return std::nullopt;  // stands for nothing here
    }
  }
  for (const Signature* version : target.versions) {
    for (const Formal& f : formals(*version, results)) {
      if (f.name == name) return name;
    }
  }
  return std::nullopt;
}

const AttrFormal* Names::attribute(const Target& target, const std::string& name) {
  for (auto it = target.versions.rbegin(); it != target.versions.rend(); ++it) {
    if (const AttrFormal* a = (*it)->attribute(name)) return a;
  }
  return nullptr;
}

const Formal* Names::find_formal(const Signature& version, const OperandRef& ref, bool results) {
  if (ref.position >= 0) {
    const auto position = static_cast<std::size_t>(ref.position);
    return results ? version.output(position) : version.input(position);
  }
  for (const Formal& f : formals(version, results)) {
    if (f.name == ref.name) return &f;
  }
  return nullptr;
}

std::optional<OperandRef> Names::operand(const Target& target, const ast::Operand& operand, bool results) const {
  const std::string what = results ? "result" : "operand";
  const std::string op = spelling(target.op);
  OperandRef ref{-1, operand.name, operand.span};
  if (operand.position == ast::Operand::kNone) return std::nullopt;  // reported

  if (!results && target.has_parameters()) {
    const std::vector<ast::Word>& list = target.alias->parameters;
    const std::string& alias = target.alias->name.text;
    if (operand.position) {
      if (*operand.position < 1 || *operand.position > static_cast<std::int64_t>(list.size())) {
        auto& d =
            diagnostics_
                .error(codes::kNoSuchPosition, quote(alias) + " has no argument " + std::to_string(*operand.position))
                .at(operand.span);
        std::vector<std::string> names;
        names.reserve(list.size());
        for (const ast::Word& p : list) names.push_back(p.text);
        d.fix(list.empty() ? "its alias lists no parameters"
                           : "its arguments, counted from 1, are " + list_of(names, false, "and"));
        d.also(target.alias->name.span, "the alias");
        return std::nullopt;
      }
      ref.name = list[static_cast<std::size_t>(*operand.position - 1)].text;
    }
    const bool listed = std::any_of(list.begin(), list.end(), [&](const ast::Word& p) { return p.text == ref.name; });
    if (listed) {
      if (const auto it = target.parameters.find(ref.name); it != target.parameters.end()) {
        ref.name = it->second;
        return ref;
      }
      std::vector<std::string> bound;
      for (const ast::Word& p : list) {
        if (target.parameters.contains(p.text)) bound.push_back(p.text);
      }
      auto& d = diagnostics_
                    .error(codes::kUnboundParameter, "the parameter " + quote(ref.name) + " of " + quote(alias) +
                                                         " stands for no operand of " + op)
                    .at(operand.span)
                    .also(target.alias->name.span, "the alias");
      d.fix(bound.empty() ? "bind it in the alias: " + op + "(X: " + ref.name + ")"
                          : "those that do are " + list_of(bound, false, "and"));
      return std::nullopt;
    }
  }

  if (!target.known()) {
    if (!operand.position && (program_.incomplete || is_lost(op))) return std::nullopt;
    if (operand.position) {
      ref.position = static_cast<int>(*operand.position - 1);
      if (ref.position >= 0) return ref;
      diagnostics_.error(codes::kNoSuchPosition, what + "s are counted from 1")
          .at(operand.span)
          .fix("the first one is " + std::string(results ? "result" : "arg") + " 1");
      return std::nullopt;
    }
    diagnostics_.error(codes::kNeedsPosition, "no schema tells the " + what + "s of " + op + " by name")
        .at(operand.span)
        .fix("write its position, counted from 1, or " + declaration_of(target.op));
    return std::nullopt;
  }

  if (operand.position && (target.alias == nullptr || !target.has_parameters() || results)) {
    if (*operand.position >= 1) {
      ref.position = static_cast<int>(*operand.position - 1);
      ref.name.clear();
      for (const Signature* version : target.versions) {
        if (find_formal(*version, ref, results) != nullptr) return ref;
      }
    }
    std::size_t most = 0;
    for (const Signature* version : target.versions) most = std::max(most, formals(*version, results).size());
    auto& d =
        diagnostics_.error(codes::kNoSuchPosition, op + " has no " + what + " " + std::to_string(*operand.position))
            .at(operand.span);
    if (most == 0) {
      d.fix("it has no " + what + "s at all");
    } else {
      std::vector<std::string> names;
      for (const Formal& f : formals(*target.versions.back(), results)) names.push_back(f.name);
      d.fix(names.size() == 1 ? "its one " + what + " is " + names[0] + ", number 1"
                              : "its " + what + "s, counted from 1, are " + list_of(names, false, "and"));
    }
    return std::nullopt;
  }

  if (formal(target, ref.name, results)) return ref;
  auto& d = diagnostics_.error(codes::kUnknownOperand, op + " has no " + what + " " + quote(ref.name)).at(operand.span);
  const std::vector<std::string> names = operand_names(target, results);
  suggest(d, ref.name, names);
  if (const AttrFormal* a = results ? nullptr : attribute(target, ref.name)) {
    d.label = "this is an attribute";
    d.edits.clear();
    d.note(quote(a->name) + " is no tensor: no role applies to it");
  }
  if (const bool near = d.label.starts_with("did"); !near) {
    d.fix(names.empty()       ? "it has no " + what + "s at all"
          : names.size() == 1 ? "its one " + what + " is " + names[0]
                              : "its " + what + "s are " + list_of(names, false, "and"));
  }
  return std::nullopt;
}

}  // namespace ampc::lang
