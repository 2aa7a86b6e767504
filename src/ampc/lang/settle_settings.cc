// One value for each setting of each scope: a file's own beats those that it imports.
#include <algorithm>
#include <map>
#include <tuple>

#include "ampc/diag/codes.h"
#include "ampc/lang/draft.h"
#include "ampc/lang/places.h"

namespace ampc::lang {

namespace {

void apply(Settings& settings, const RuleSet& rules, const std::string& key, const std::string& value) {
  if (key == "dtype") {
    settings.dtype = value == "fp16" ? ElemType::float16 : ElemType::bfloat16;
  } else if (key == "level") {
    settings.level = rules.level(value);
  } else if (key == "promote") {
    settings.promote = value == "on";
  } else if (key == "follow") {
    settings.follow = value == "any" ? FollowMode::any : FollowMode::last;
  } else if (key == "gray") {
    settings.gray = value == "cut" ? Gray::cut : Gray::local;
  } else if (key == "rewrite creators") {
    settings.rewrite_creators = value == "on";
  } else if (key == "rewrite moved") {
    settings.rewrite_moved = value == "on";
  } else if (key == "rewrite redundant") {
    settings.rewrite_redundant = value == "on";
  } else if (key == "io") {
    settings.io = value == "keep" ? Io::keep : Io::low;
  } else if (key == "overflow") {
    settings.overflow = value == "keep"    ? Overflow::keep
                        : value == "clamp" ? Overflow::clamp
                        : value == "inf"   ? Overflow::inf
                                           : Overflow::error;
  } else if (key == "underflow") {
    settings.underflow = value == "keep" ? Underflow::keep : Underflow::flush;
  } else if (key == "shared") {
    settings.shared = value == "fp32" ? Shared::fp32 : value == "low" ? Shared::low : Shared::both;
  } else if (key == "functions") {
    settings.functions = value == "keep" ? Functions::keep : Functions::inlined;
  } else if (key == "master") {
    settings.master = value == "keep" ? Master::keep : Master::rounded;
  } else if (key == "on conflict") {
    settings.on_conflict = value == "node"    ? OnConflict::node
                           : value == "store" ? OnConflict::store
                                              : OnConflict::error;
  }
}

}  // namespace

void settle_settings(Draft& draft, const Program& program, Diagnostics& diagnostics) {
  std::map<std::pair<ScopeId, std::string>, std::vector<const SettingEntry*>> groups;
  for (const SettingEntry& e : draft.settings) groups[{e.scope, e.key.text}].push_back(&e);
  for (const auto& [where, group] : groups) {
    const std::vector<const SettingEntry*>& entries = group;
    const auto beaten = [&](const SettingEntry* e) {
      return std::any_of(entries.begin(), entries.end(),
                         [&](const SettingEntry* other) { return program.reaches[other->unit][e->unit]; });
    };
    std::vector<const SettingEntry*> rest;
    for (const SettingEntry* e : entries) {
      if (!beaten(e)) rest.push_back(e);
    }
    std::stable_sort(rest.begin(), rest.end(), [&](const SettingEntry* a, const SettingEntry* b) {
      return std::tie(program.units[a->unit].path, a->key.span.begin) <
             std::tie(program.units[b->unit].path, b->key.span.begin);
    });
    const SettingEntry* first = rest.front();
    for (const SettingEntry* e : rest) {
      if (e == first) continue;
      const bool one_file = e->unit == first->unit;
      if (e->value.text != first->value.text) {
        auto& d =
            diagnostics.error(codes::kSettingTwice, "the setting '" + e->key.text + "' has two values")
                .at({e->key.span.file, e->key.span.begin, e->value.span.end}, e->value.text + " here")
                .also({first->key.span.file, first->key.span.begin, first->value.span.end}, first->value.text + " here")
                .fix(one_file ? "remove one of the two"
                              : "say it in the file that imports both: its own setting holds");
        show_imports(d, program, e->unit, first->unit);
      } else if (one_file) {
        auto& d = diagnostics.warning(codes::kDuplicate, "the setting '" + e->key.text + "' is given twice")
                      .at({e->key.span.file, e->key.span.begin, e->value.span.end})
                      .also({first->key.span.file, first->key.span.begin, first->value.span.end}, "here as well")
                      .fix("leave one of the two out");
        edit_out(d, program, d.span);
      }
    }
    apply(draft.rules.scopes[where.first].settings, draft.rules, where.second, first->value.text);
  }
}

}  // namespace ampc::lang
