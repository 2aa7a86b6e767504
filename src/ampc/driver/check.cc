// `ampc check FILE… [--model M…]`: rule files by themselves, and what of them has a use in models.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "ampc/diag/mend.h"
#include "ampc/diag/model_codes.h"
#include "ampc/diag/suggest.h"
#include "ampc/driver/command.h"
#include "ampc/driver/compilation.h"
#include "ampc/driver/report.h"
#include "ampc/emit/output_file.h"
#include "ampc/lang/rule_file.h"

namespace ampc::driver {
namespace {

struct CheckOptions : PlanOptions {
  std::vector<std::string> files, models;
  bool fix = false;
  ReportOptions report;
};

/// What the models have of a file's lists: a rule by where it stands.
struct Use {
  std::set<std::uint32_t> named;  // some model has the operator
  std::set<std::uint32_t> held;   // at some node it is in scope, and its condition holds
  std::set<std::string> operators;
  std::set<std::uint32_t> narrow_guards;  // some node of a model is in none of their scopes
};

/// A diagnostic of a rule file, for telling which ones every model gives.
using Key = std::pair<std::uint32_t, std::string>;

class Check {
 public:
  Check(const CheckOptions& o, const Streams& s) : o_(o), s_(s) {}

  int run() {
    int code = kOk;
    for (const std::string& file : o_.files) {
      if (o_.fix && !fix(file)) return kWrongInput;
      const int one = o_.models.empty() ? rules_alone(file) : against_models(file);
      code = std::max(code, one);
    }
    return code;
  }

 private:
  int rules_alone(const std::string& file) {
    Compilation c(o_, s_.err);
    c.diagnostics.set_policy(policy_of(o_.report));
    const int code = c.read_rules(file);
    report(s_.err, c.diagnostics, c.sources, o_.report);
    tell_fixes(c);
    return c.diagnostics.failed() ? kWrongInput : code;
  }

  void tell_fixes(const Compilation& c) {
    if (o_.report.form != Form::text) return;
    if (c.sources.size() == 0) return;  // no file was read
    const Mended mended = mend(c.sources.text(kRootFile), kRootFile, c.diagnostics.sorted(c.sources));
    const std::size_t fixable = mended.fixes + mended.refused;
    if (fixable != 0) s_.err << fmt::format("{} of these: `ampc check --fix` mends\n", fixable);
  }

  /// Carries out what diagnostics of this file suggest, and what those of the result do. False where the file cannot be
  /// written; one that cannot be read is left for the check to tell.
  bool fix(const std::string& file) {
    const lang::RuleFile given = lang::read_rule_file(file);
    if (!given.ok) return true;
    auto [text, fixes, refused] = mend_in_rounds(given.text, [&](const std::string& now) {
      Compilation c(o_, s_.err);
      c.diagnostics.set_policy(policy_of(o_.report));
      (void)c.read_rules(file, now);
      return mend(now, kRootFile, c.diagnostics.sorted(c.sources));
    });
    if (fixes == 0) return true;
    if (given.byte_order_mark) text.insert(0, "\xef\xbb\xbf");
    try {
      emit::OutputFile out(file);
      out.set_size(text.size());
      out.write_at(0, std::as_bytes(std::span(text)));
      out.commit();
    } catch (const IoError& e) {
      Diagnostics wrong;
      wrong.error(codes::kCannotWrite, fmt::format("{}: {}", e.message(), std::strerror(e.code()))).in(file);
      report(s_.err, wrong, {}, o_.report);
      return false;
    }
    s_.out << fmt::format("{}: {} mended\n", file, fixes);
    return true;
  }

  /// One report for all models: what is wrong at a rule once, what is unused where it is so in every model.
  int against_models(const std::string& file) {
    Use use;
    std::map<Key, std::size_t> unused;
    for (const std::string& model : o_.models) {
      Compilation c(o_, s_.err);
      // What is wrong with rules or a model is told as a compilation tells it, and no more is to be learnt.
      if (const int code = c.read_and_decide(file, model, o_.report); code != kOk) return code;
      look(c, use);
      for (const Diagnostic* d : c.diagnostics.sorted(c.sources)) {
        if (d->code == codes::kUnusedRule && d->span.file == kRootFile) ++unused[{d->span.begin, d->message}];
      }
      if (&model == &o_.models.back()) return conclude(c, use, unused);
    }
    return kOk;
  }

  static void look(const Compilation& c, Use& use) {
    const Model& m = *c.model;
    for (const lang::GuardRule& g : c.rules->guards) {
      for (NodeId n = 0; n < m.nodes.size(); ++n) {
        if (c.index->guard_matches(m, g, n)) continue;
        use.narrow_guards.insert(g.span.begin);
        break;
      }
    }
    for (NodeId n = 0; n < m.nodes.size(); ++n) {
      const Options& options = c.index->options(n);
      use.operators.emplace(m.op_of(n).name);
      for (const lang::OpRule* r : c.index->op_rules(m.nodes[n].op)) {
        if (r->span.file != kRootFile) continue;
        use.named.insert(r->span.begin);
        // A level or a type that is not asked for today says nothing about the rule.
        const bool here = c.index->scope_depth(r->scope, n) >= 0 && (!r->where || holds(*r->where, m, n));
        if (here || !r->when.holds(options.level, options.dtype)) use.held.insert(r->span.begin);
      }
    }
  }

  /// Of the last model's diagnostics, those at rules of this file, and what the models together show.
  int conclude(Compilation& c, const Use& use, const std::map<Key, std::size_t>& unused) {
    Diagnostics result;
    result.set_policy(policy_of(o_.report));
    const std::string models =
        o_.models.size() == 1 ? "the model" : fmt::format("any of the {} models", o_.models.size());
    for (const Diagnostic* d : c.diagnostics.sorted(c.sources)) {
      if (!d->span.valid()) continue;  // about the model, and told when it is compiled
      if (d->code == codes::kUnusedRule) {
        const auto at = unused.find({d->span.begin, d->message});
        if (d->span.file != kRootFile || at == unused.end() || at->second < o_.models.size()) continue;
      }
      result.report(d->severity, d->code, {}) = *d;
    }
    const std::vector<std::string> known(use.operators.begin(), use.operators.end());
    for (const lang::OpRule& r : c.rules->ops) {
      if (r.span.file != kRootFile || use.held.contains(r.span.begin)) continue;
      if (!use.named.contains(r.span.begin)) {
        auto& d =
            result.warning(codes::kUnusedRule, fmt::format("no node of {} is a '{}'", models, r.op.name)).at(r.span);
        if (std::string near = did_you_mean(r.op.name, known); !near.empty()) d.fix(std::move(near));
      } else if (r.where) {
        result.warning(codes::kUnusedRule, fmt::format("this condition holds at no '{}' of {}", r.op.name, models))
            .at(r.where->span);
      }
    }
    idle_guards(*c.rules, use, models, result);
    report(s_.err, result, c.sources, o_.report);
    return result.failed() ? kWrongInput : kOk;
  }

  /// Guards that keep no node of any model from being lowered.
  void idle_guards(const lang::RuleSet& rules, const Use& use, const std::string& models, Diagnostics& result) const {
    for (const lang::GuardRule& g : rules.guards) {
      if (g.span.file != kRootFile || use.narrow_guards.contains(g.span.begin)) continue;
      result.warning(codes::kUnusedRule, fmt::format("this guard holds every node of {}: it decides nothing", models))
          .at(g.span)
          .fix("a guard names the parts that may be lowered; without one, all may");
    }
  }

  const CheckOptions& o_;
  const Streams& s_;
};

}  // namespace

int check_command(const Arguments& args, const Streams& streams) {
  CheckOptions o;
  CLI::App app("Checks rule files against the schemas of every opset that they may meet, and against models.",
               "ampc check");
  app.add_option("FILE", o.files, "Rule files; each is checked with what it imports")->required();
  app.add_option("--model", o.models, "ONNX model: tells what has no use in any of them; may be repeated")
      ->type_name("MODEL")
      ->allow_extra_args(false);
  app.add_flag("--fix", o.fix,
               "Write what a diagnostic is sure of into these files, and check what comes out; imported files stay");
  add_plan_options(app, o);
  add_report_options(app, o.report);
  app.footer(
      "Says nothing, and ends with 0, where nothing is wrong. With -Werror warnings count as well.\n"
      "Example: ampc check rules/team.amp --model a.onnx --model b.onnx");
  if (const auto over = parse(app, args, streams.out, streams.err)) return *over;
  return Check(o, streams).run();
}

}  // namespace ampc::driver
