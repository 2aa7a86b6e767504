// Statements to rules: every name is looked up, every value checked.
#include <algorithm>
#include <map>

#include "ampc/diag/codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/lang/draft.h"

namespace ampc::lang {

namespace {

constexpr std::size_t kMostLevels = 32;  // bits of When::levels

std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

// Where a statement stands.
struct Context {
  std::size_t unit = 0;
  ScopeId scope = kWholeModel;
  std::optional<std::uint32_t> level;  // in a level's body
  std::string_view inside;             // "", "a scope", "a block", "a level"
  bool again = false;                  // in a second definition of a level, which was reported
};

class Resolver {
 public:
  Resolver(const Program& program, const Names& names, Diagnostics& diagnostics)
      : program_(program), names_(names), diagnostics_(diagnostics) {
    draft_.rules.scopes.emplace_back();
    draft_.scope_keys.emplace_back();
  }

  Draft run() {
    for (const Unit& unit : program_.units) draft_.rules.files.push_back(unit.path);
    collect_levels();
    for (std::size_t u = 0; u < program_.units.size(); ++u) {
      statements(program_.units[u].file.statements, {u, kWholeModel, std::nullopt, {}, false});
    }
    return std::move(draft_);
  }

 private:
  void collect_levels() {
    std::map<std::string, const ast::LevelDefinition*> found;
    for (const Unit& unit : program_.units) {
      for (const ast::Statement& s : unit.file.statements) {
        const auto* definition = std::get_if<ast::LevelDefinition>(&s.node);
        if (definition == nullptr) continue;
        const auto [it, fresh] = found.try_emplace(definition->name.text, definition);
        if (fresh) continue;
        diagnostics_.error(codes::kDefinedTwice, "the level " + quote(definition->name.text) + " is defined twice")
            .at(definition->name.span, "here again")
            .also(it->second->name.span, "first here");
      }
    }
    if (found.size() > kMostLevels) {
      diagnostics_.error(codes::kBadNumber, "more than " + std::to_string(kMostLevels) + " levels are defined")
          .at(found.rbegin()->second->name.span);
      while (found.size() > kMostLevels) found.erase(std::prev(found.end()));
    }
    for (const auto& [name, definition] : found) {  // in the order of their names
      Level level;
      level.name = name;
      level.span = definition->name.span;
      draft_.rules.levels.push_back(std::move(level));
    }
    levels_ = std::move(found);
  }

  std::optional<std::uint32_t> level(const ast::Word& name) {
    if (const auto index = draft_.rules.level(name.text)) return index;
    std::vector<std::string> known;
    for (const Level& l : draft_.rules.levels) known.push_back(l.name);
    auto& d = diagnostics_.error(codes::kUnknownLevel, "no level is called " + quote(name.text)).at(name.span);
    d.label = did_you_mean(name.text, known);
    if (known.empty()) {
      d.fix("levels are defined by rules: import the file that does, or write level " + name.text + " { default fp32 }");
    } else if (name.text.find('.') != std::string::npos) {
      d.fix("a domain and its operator are joined by '::'");
    } else {
      d.fix("levels that are defined: " + list_of(known, false, "and"));
    }
    return std::nullopt;
  }

  void statements(const std::vector<ast::Statement>& list, const Context& context) {
    for (const ast::Statement& s : list) {
      std::visit([&](const auto& node) { this->statement(node, s, context); }, s.node);
    }
  }

  // Reports a statement that cannot stand in this context.
  bool only_in_file(const ast::Statement& s, const Context& context, std::string_view what) {
    if (context.inside.empty()) return true;
    diagnostics_.error(codes::kMisplaced, std::string(what) + " cannot stand in " + std::string(context.inside))
        .at(s.keyword)
        .fix("move it out of the braces");
    return false;
  }

  bool not_in_level(const ast::Statement& s, const Context& context, std::string_view what) {
    if (!context.level) return true;
    diagnostics_.error(codes::kMisplaced, std::string(what) + " cannot stand in a level")
        .at(s.keyword)
        .fix("a level holds default, weights, off, lists and roles");
    return false;
  }

  void statement(const ast::Version&, const ast::Statement& s, const Context& context) {
    only_in_file(s, context, "the version");
  }
  void statement(const ast::Import&, const ast::Statement& s, const Context& context) { only_in_file(s, context, "an import"); }
  void statement(const ast::Alias&, const ast::Statement& s, const Context& context) { only_in_file(s, context, "an alias"); }

  void statement(const ast::Setting& n, const ast::Statement& s, const Context& context) {
    if (!not_in_level(s, context, "the setting " + quote(n.key.text))) return;
    const std::string& key = n.key.text;
    const bool local = key == "level" || key == "dtype" || key == "promote" || key == "follow";
    if (!local && !only_in_file(s, context, "the setting " + quote(key))) return;
    if (key == "level") {
      if (!level(n.value)) return;
    } else if (!allowed(n.value, "the setting " + quote(key), values_of(key))) {
      return;
    }
    draft_.settings.push_back({context.scope, n.key, n.value, context.unit});
  }

  static std::vector<std::string> values_of(const std::string& key) {
    if (key == "dtype") return {"fp16", "bf16"};
    if (key == "promote") return {"on", "off"};
    if (key == "follow") return {"any", "last"};
    if (key == "io") return {"keep", "low"};
    if (key == "overflow") return {"keep", "clamp", "inf", "error"};
    if (key == "underflow") return {"keep", "flush"};
    if (key == "shared") return {"fp32", "low", "both"};
    return {"node", "store", "error"};  // on conflict
  }

  bool allowed(const ast::Word& word, const std::string& what, const std::vector<std::string>& values) {
    if (std::find(values.begin(), values.end(), word.text) != values.end()) return true;
    auto& d = diagnostics_.error(codes::kBadValue, what + " has no value " + quote(word.text)).at(word.span);
    d.label = did_you_mean(word.text, values);
    d.fix("it is " + list_of(values));
    return false;
  }

  // What stands after `keep` and `store`.
  bool is_fp32(const ast::Word& type) {
    if (type.text == "fp32") return true;
    auto& d = diagnostics_.error(codes::kBadValue, "only fp32 can be kept or stored, not " + quote(type.text)).at(type.span);
    if (type.text == "fp16" || type.text == "bf16") {
      d.fix("what a rule lowers to is the setting dtype: write 'keep fp32' for what is not to be lowered");
    } else {
      d.label = did_you_mean(type.text, std::vector<std::string>{"fp32"});
      if (d.label.empty()) d.fix("write 'fp32'");
    }
    return false;
  }

  std::optional<NamePattern> pattern(const ast::Pattern& p) {
    std::string error;
    auto result = p.regex ? NamePattern::regex(p.text, &error) : NamePattern::glob(p.text, &error);
    if (!result) {
      diagnostics_.error(codes::kBadPattern, std::string("this is no ") + (p.regex ? "regular expression: " : "name pattern: ") + error)
          .at(p.span);
    }
    return result;
  }

  void statement(const ast::IoRule& n, const ast::Statement& s, const Context& context) {
    if (!only_in_file(s, context, "an io rule")) return;
    if (!allowed(n.value, "the setting 'io'", values_of("io"))) return;
    for (const ast::Pattern& p : n.patterns) {
      if (auto one = pattern(p)) {
        draft_.rules.io.push_back({std::move(*one), n.value.text == "low" ? Io::low : Io::keep, p.span});
      }
    }
  }

  void statement(const ast::LevelDefinition& n, const ast::Statement& s, const Context& context) {
    if (!only_in_file(s, context, "the definition of a level")) return;
    const auto index = draft_.rules.level(n.name.text);
    if (!index) return;
    const bool again = levels_.at(n.name.text) != &n;
    statements(n.body, {context.unit, kWholeModel, index, "a level", again});
  }

  void statement(const ast::LevelPart& n, const ast::Statement& s, const Context& context) {
    if (!context.level) {
      diagnostics_.error(codes::kMisplaced, quote(n.key.text) + " stands in the definition of a level alone")
          .at(s.span)
          .fix("level O2 { " + n.key.text + (n.value.text.empty() ? "" : " " + n.value.text) + " }");
      return;
    }
    Level& level = draft_.rules.levels[*context.level];
    if (context.again) return;
    if (n.key.text == "off") {
      level.off = true;
    } else if (n.key.text == "default") {
      if (!allowed(n.value, "'default'", {"low", "fp32"})) return;
      level.default_low = n.value.text == "low";
    } else {
      if (!allowed(n.value, "'weights'", {"keep", "use", "low"})) return;
      level.weights = n.value.text == "keep"  ? Level::Weights::keep
                      : n.value.text == "use" ? Level::Weights::use
                                              : Level::Weights::low;
    }
    const auto [it, fresh] = level_parts_.try_emplace({*context.level, n.key.text}, &n);
    if (fresh) return;
    auto& d = n.value.text == it->second->value.text
                  ? diagnostics_.warning(codes::kDuplicate, "the level has said " + quote(n.key.text) + " already")
                  : diagnostics_.error(codes::kSettingTwice, "the level says " + quote(n.key.text) + " twice, with two values");
    d.at(s.span).also(it->second->key.span, "first here");
  }

  std::optional<When> when(const ast::Qualifiers& q, const Context& context) {
    When result;
    bool ok = true;
    if (!q.levels.empty()) {
      result.levels = 0;
      for (const ast::Word& w : q.levels) {
        if (context.level) {
          diagnostics_.error(codes::kMisplaced, "in the definition of a level, every list holds at that level")
              .at(w.span)
              .fix("leave the level out, or move the list out of the braces");
          return std::nullopt;
        }
        const auto index = level(w);
        ok = ok && index.has_value();
        if (index) result.levels |= std::uint32_t{1} << *index;
      }
    }
    if (context.level) result.levels = std::uint32_t{1} << *context.level;
    if (!q.dtypes.empty()) {
      result.fp16 = std::any_of(q.dtypes.begin(), q.dtypes.end(), [](const ast::Word& w) { return w.text == "fp16"; });
      result.bf16 = std::any_of(q.dtypes.begin(), q.dtypes.end(), [](const ast::Word& w) { return w.text == "bf16"; });
    }
    if (!ok) return std::nullopt;
    return result;
  }

  void statement(const ast::List& n, const ast::Statement& s, const Context& context) {
    if (is_follow_mode(n)) {
      const ast::Word value{n.ops[0].name, n.ops[0].span};
      statement(ast::Setting{{"follow", s.keyword}, value}, s, context);
      return;
    }
    const auto holds = when(n.qualifiers, context);
    for (const ast::Op& op : n.ops) {
      for (const Target& target : names_.operators(op)) {
        OpEntry entry;
        entry.rule.verdict = n.verdict;
        entry.rule.op = target.op;
        entry.rule.scope = context.scope;
        entry.rule.span = op.span;
        entry.unit = context.unit;
        entry.overriding = n.overriding;
        entry.through_alias = target.alias != nullptr;
        entry.statement = s.keyword;
        if (n.where) {
          entry.rule.where = resolve_predicate(*n.where, target, names_, diagnostics_);
          if (!entry.rule.where) continue;
          entry.where = print(*entry.rule.where);
        }
        if (n.verdict == Verdict::allow) check_lowerable(target, n.qualifiers, op.span);
        if (!holds) continue;
        entry.rule.when = *holds;
        draft_.ops.push_back(std::move(entry));
      }
    }
  }

  static bool is_follow_mode(const ast::List& n) {
    return n.verdict == Verdict::follow && !n.overriding && n.qualifiers.empty() && !n.where && n.ops.size() == 1 &&
           !n.ops[0].qualified && (n.ops[0].name == "any" || n.ops[0].name == "last");
  }

  // Does some version of the operator take or make this type where it also takes fp32?
  static bool lowers(const Target& target, ElemType low) {
    const auto admits = [&](const Formal& f) { return f.elems.contains(low); };
    return std::any_of(target.versions.begin(), target.versions.end(), [&](const Signature* v) {
      return std::any_of(v->inputs.begin(), v->inputs.end(), admits) ||
             std::any_of(v->outputs.begin(), v->outputs.end(), admits);
    });
  }

  void check_lowerable(const Target& target, const ast::Qualifiers& q, Span span) {
    if (!target.known()) return;
    for (const ast::Word& w : q.dtypes) {
      if (lowers(target, w.text == "fp16" ? ElemType::float16 : ElemType::bfloat16)) continue;
      diagnostics_.error(codes::kNeverLow, "no opset has " + spelling(target.op) + " in " + w.text)
          .at(span, "cannot be allowed for this type");
    }
    if (q.dtypes.empty() && !lowers(target, ElemType::float16) && !lowers(target, ElemType::bfloat16)) {
      diagnostics_.warning(codes::kNeverLow, "'allow' has no effect on " + spelling(target.op))
          .at(span, "no opset has it in fp16 or bf16");
    }
  }

  void statement(const ast::Bounded& n, const ast::Statement& s, const Context& context) {
    if (!only_in_file(s, context, "'bounded'")) return;
    for (const ast::Op& op : n.ops) {
      for (const Target& target : names_.operators(op)) {
        draft_.rules.facts.push_back({FactRule::Fact::bounded, target.op, op.span});
      }
    }
  }

  void statement(const ast::Role& n, const ast::Statement& s, const Context& context) {
    bool ok = true;
    if (n.action == RoleAction::keep_fp32 || n.action == RoleAction::store_fp32) ok = is_fp32(n.type);
    if (n.action == RoleAction::exact_from_integers && n.from.text != "integers") {
      diagnostics_.error(codes::kBadValue, "'exact from' has no value " + quote(n.from.text))
          .at(n.from.span, did_you_mean(n.from.text, std::vector<std::string>{"integers"}))
          .fix("write 'exact', or 'exact from integers'");
      ok = false;
    }
    if (n.results && n.action != RoleAction::keep_fp32) {
      diagnostics_.error(codes::kBadValue, "a result can be kept in fp32, nothing else")
          .at(s.span)
          .fix("write 'keep fp32', or say it of an operand: 'arg'");
      ok = false;
    }
    const auto holds = when(n.qualifiers, context);
    for (const ast::Op& op : n.ops) {
      const std::vector<Target> targets = names_.operators(op);
      for (const Target& target : targets) {
        RoleEntry entry;
        entry.rule.op = target.op;
        entry.rule.results = n.results;
        entry.rule.every = n.operands.every;
        entry.rule.except = n.operands.every && !n.operands.list.empty();
        entry.rule.action = n.action;
        entry.rule.scope = context.scope;
        entry.rule.span = s.span;
        entry.unit = context.unit;
        entry.overriding = n.overriding;
        entry.statement = s.keyword;
        entry.target = target;
        bool complete = true;
        for (const ast::Operand& operand : n.operands.list) {
          if (stands_elsewhere(target, targets, operand, n.results)) continue;
          auto ref = names_.operand(target, operand, n.results);
          if (!ref || (!n.operands.every && !can_be_float(target, *ref, n.results, operand))) {
            complete = false;
            continue;
          }
          entry.rule.operands.push_back(std::move(*ref));
        }
        if (!complete || !ok || !holds || (!n.operands.every && entry.rule.operands.empty())) continue;
        entry.rule.when = *holds;
        draft_.roles.push_back(std::move(entry));
      }
    }
  }

  // An alias for several operators: a parameter may stand for an operand of some of them only.
  static bool stands_elsewhere(const Target& target, const std::vector<Target>& targets, const ast::Operand& operand, bool results) {
    if (results || !target.has_parameters() || targets.size() < 2) return false;
    std::string name = operand.name;
    const std::vector<ast::Word>& list = target.alias->parameters;
    if (operand.position) {
      if (*operand.position < 1 || *operand.position > static_cast<std::int64_t>(list.size())) return false;
      name = list[static_cast<std::size_t>(*operand.position - 1)].text;
    }
    return !target.parameters.contains(name) &&
           std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.parameters.contains(name); });
  }

  bool can_be_float(const Target& target, const OperandRef& ref, bool results, const ast::Operand& operand) {
    if (!target.known()) return true;
    ElemTypeSet seen;
    for (const Signature* version : target.versions) {
      const Formal* f = Names::find_formal(*version, ref, results);
      if (f == nullptr) continue;
      if (!f->tensor_only || f->elems.contains(ElemType::float32)) return true;
      for (unsigned t = 1; t <= kLastElemType; ++t) {
        if (f->elems.contains(static_cast<ElemType>(t))) seen.insert(static_cast<ElemType>(t));
      }
    }
    std::vector<std::string> types;
    for (unsigned t = 1; t <= static_cast<unsigned>(ElemType::bfloat16); ++t) {
      if (seen.contains(static_cast<ElemType>(t))) types.emplace_back(short_name(static_cast<ElemType>(t)));
    }
    const std::string what = operand.position ? (results ? "result " : "operand ") + std::to_string(*operand.position)
                                              : quote(operand.name);
    auto& d = diagnostics_.error(codes::kNeverFloat, what + " of " + spelling(target.op) + " is never fp32").at(operand.span);
    d.label = "it is " + (types.size() > 6 ? "of other types" : list_of(types, false)) + " in every opset";
    return false;
  }

  void statement(const ast::NameRule& n, const ast::Statement& s, const Context& context) {
    using Kind = ast::NameRule::Kind;
    const char* what = n.kind == Kind::tensor ? "a tensor rule" : n.kind == Kind::node ? "a node rule" : n.kind == Kind::guard ? "a guard" : "a weight rule";
    if (!not_in_level(s, context, what)) return;
    if (n.kind == Kind::guard && !only_in_file(s, context, what)) return;
    bool ok = true;
    if (!n.type.text.empty()) ok = is_fp32(n.type);
    if (n.kind == Kind::node && n.action.text != "keep") {
      if (n.action.text != "low") {
        auto& d = diagnostics_.error(codes::kBadValue, "a node can be kept in fp32 or lowered, not " + quote(n.action.text)).at(n.action.span);
        d.label = did_you_mean(n.action.text, std::vector<std::string>{"low", "keep"});
        d.fix("write 'keep fp32' or 'low'");
        ok = false;
      }
    }
    for (const ast::Pattern& p : n.patterns) {
      auto one = pattern(p);
      if (!one || !ok) continue;
      switch (n.kind) {
        case Kind::tensor:
          draft_.rules.tensors.push_back({std::move(*one), n.action.text == "store", context.scope, p.span});
          break;
        case Kind::node:
          draft_.rules.nodes.push_back({std::move(*one), n.action.text == "low", context.scope, p.span});
          break;
        case Kind::guard:
          draft_.rules.guards.push_back({std::move(*one), p.span});
          break;
        case Kind::weight: {
          WeightRule rule;
          rule.pattern = std::move(*one);
          rule.scope = context.scope;
          rule.span = p.span;
          draft_.rules.weights.push_back(std::move(rule));
          break;
        }
      }
    }
  }

  void statement(const ast::WeightCondition& n, const ast::Statement& s, const Context& context) {
    if (!not_in_level(s, context, "a weight rule")) return;
    bool ok = is_fp32(n.type);
    WeightRule rule;
    const std::vector<std::string> measures = {"absmax", "underflow", "overflow", "size"};
    const auto known = std::find(measures.begin(), measures.end(), n.left.name.text);
    if (n.left.kind != ast::Term::Kind::name || known == measures.end()) {
      auto& d = diagnostics_.error(codes::kUnknownProperty, n.left.kind == ast::Term::Kind::name ? "weights have no measure " + quote(n.left.name.text)
                                                                                                 : "a measure of weights belongs here")
                    .at(n.left.span);
      d.label = did_you_mean(n.left.name.text, measures);
      d.fix("measures are absmax, size, and the shares underflow and overflow: weight where absmax > 65504 keep fp32");
      return;
    }
    rule.measure = static_cast<WeightRule::Measure>(known - measures.begin());
    const bool share = *known == "underflow" || *known == "overflow";
    if (n.right.kind != ast::Term::Kind::number) {
      diagnostics_.error(codes::kBadComparison, quote(*known) + " is compared with a number").at(n.right.span);
      return;
    }
    const ast::Number& number = n.right.number;
    rule.limit = number.percent ? number.value / 100 : number.value;
    if (share && (rule.limit < 0 || rule.limit > 1)) {
      diagnostics_.error(codes::kBadNumber, quote(*known) + " is a share of a weight's elements, between 0% and 100%")
          .at(number.span)
          .fix(number.percent ? "" : "write " + number.text + "%");
      ok = false;
    }
    if (!share && number.percent) {
      diagnostics_.error(codes::kBadNumber, quote(*known) + " is no share: a percentage has no meaning for it").at(number.span);
      ok = false;
    }
    if (!ok) return;
    rule.op = n.op;
    rule.scope = context.scope;
    rule.span = s.span;
    draft_.rules.weights.push_back(std::move(rule));
  }

  void statement(const ast::Scope& n, const ast::Statement& s, const Context& context) {
    if (!not_in_level(s, context, "a scope")) return;
    Scope scope;
    scope.parent = context.scope;
    scope.span = s.keyword;
    std::vector<std::string> texts;
    for (const ast::Pattern& p : n.patterns) {
      auto one = pattern(p);
      if (!one) continue;
      texts.push_back((p.regex ? "/" : "\"") + p.text);
      scope.patterns.push_back(std::move(*one));
    }
    std::sort(texts.begin(), texts.end());
    std::string key = "scope";
    for (const std::string& t : texts) key += "\x1e" + t;
    statements(n.body, {context.unit, enter(std::move(scope), key), std::nullopt, "a scope", false});
  }

  void statement(const ast::Block& n, const ast::Statement& s, const Context& context) {
    if (!only_in_file(s, context, "a block")) return;
    Scope scope;
    scope.span = s.keyword;
    scope.block = n.path.text;
    std::string key = "block\x1e" + n.path.text;
    if (n.path.text.empty()) {
      diagnostics_.error(codes::kBadPattern, "the name of a block is empty").at(n.path.span).fix("the main graph is \"main\"");
    }
    if (n.has_range) {
      const auto good = [](const ast::Number& x) { return x.whole && x.value >= 0 && x.value < 4294967295.0; };
      for (const ast::Number* x : {&n.first, &n.last}) {
        if (!good(*x)) {
          diagnostics_.error(codes::kBadRange, "the number of a node is whole and not below 0").at(x->span);
        }
      }
      if (good(n.first) && good(n.last)) {
        if (n.first.value >= n.last.value) {
          diagnostics_.error(codes::kBadRange, "the range [" + n.first.text + "," + n.last.text + ") holds no node")
              .at({n.first.span.file, n.first.span.begin, n.last.span.end})
              .fix("nodes are counted from 0, and the last one is not in the range: [" + n.first.text + "," + n.first.text +
                   "] is written [" + n.first.text + "," + std::to_string(static_cast<std::uint64_t>(n.first.value) + 1) + ")");
        }
        scope.first = static_cast<std::uint32_t>(n.first.value);
        scope.last = static_cast<std::uint32_t>(n.last.value);
        key += "\x1e" + std::to_string(scope.first) + "," + std::to_string(scope.last);
      }
    }
    statements(n.body, {context.unit, enter(std::move(scope), key), std::nullopt, "a block", false});
  }

  // Equal scopes are one, wherever they are written.
  ScopeId enter(Scope scope, const std::string& own) {
    const std::string key = draft_.scope_keys[scope.parent] + "\x1f" + own;
    const auto [it, fresh] = scopes_.try_emplace(key, static_cast<ScopeId>(draft_.rules.scopes.size()));
    if (fresh) {
      draft_.rules.scopes.push_back(std::move(scope));
      draft_.scope_keys.push_back(key);
    }
    return it->second;
  }

  const Program& program_;
  const Names& names_;
  Diagnostics& diagnostics_;
  Draft draft_;
  std::map<std::string, const ast::LevelDefinition*> levels_;
  std::map<std::string, ScopeId> scopes_;
  std::map<std::pair<std::uint32_t, std::string>, const ast::LevelPart*> level_parts_;
};

}  // namespace

Draft resolve(const Program& program, const Names& names, Diagnostics& diagnostics) {
  return Resolver(program, names, diagnostics).run();
}

}  // namespace ampc::lang
