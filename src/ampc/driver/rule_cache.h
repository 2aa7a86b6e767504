// Rule sets that were read already, for the many models of one process.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ampc/diag/diagnostic.h"
#include "ampc/lang/rule_set.h"

namespace ampc::driver {

/// Safe from several threads.
class RuleCache {
 public:
  struct Rules {
    lang::RuleSet rules;
    SourceMap sources;
  };

  /// Everything that a rule set follows from but the bytes of its files.
  static std::string key(const std::string& path, const lang::CompileOptions& options) {
    std::string key = path + '\0' + options.installed_rules + '\0';
    for (const std::string& dir : options.import_dirs) key += dir + '\0';
    key += '\1';
    for (const std::string& file : options.more_rules) key += file + '\0';
    key += '\1';
    for (const std::string& domain : options.model_domains()) key += domain + '\0';
    return key;
  }

  std::shared_ptr<const Rules> find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = rules_.find(key);
    return at == rules_.end() ? nullptr : at->second;
  }
  void keep(const std::string& key, Rules rules) {
    const std::lock_guard lock(mutex_);
    rules_.emplace(key, std::make_shared<const Rules>(std::move(rules)));
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Rules>> rules_;
};

}  // namespace ampc::driver
