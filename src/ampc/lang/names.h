// What the names in rule files stand for: operators, aliases, operands.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/lang/program.h"
#include "ampc/model/operators.h"

namespace ampc::lang {

/// One operator as a rule names it, perhaps through an alias.
struct Target {
  OpName op;
  std::span<const Signature* const> versions;     // oldest first; empty where no schema is known
  const ast::Alias* alias = nullptr;              // the alias through which it was named
  std::map<std::string, std::string> parameters;  // of the alias: parameter to formal, those that stand for one
  bool known() const { return !versions.empty(); }
  bool has_parameters() const { return alias != nullptr && alias->has_parameters; }
};

std::string spelling(const OpName& op);

class Names {
 public:
  /// Collects and checks the aliases of all units.
  Names(const Program& program, const Operators& operators, const CompileOptions& options, Diagnostics& diagnostics);

  /// The operators that a name stands for; reports and returns none where there are none.
  std::vector<Target> operators(const ast::Op& op) const;

  /// Checks an operand by name or position; reports and returns nothing where the operator has none such.
  std::optional<OperandRef> operand(const Target& target, const ast::Operand& operand, bool results) const;

  /// What a parameter of the alias or a formal is called in the operator; nothing where it has none such.
  static std::optional<std::string> formal(const Target& target, const std::string& name, bool results);
  static const AttrFormal* attribute(const Target& target, const std::string& name);
  /// Formals (or parameters), and attributes where asked, in all versions.
  static std::vector<std::string> operand_names(const Target& target, bool results);
  static std::vector<std::string> attribute_names(const Target& target);

  /// The formal in a version of the operator; nullptr where that version has none.
  static const Formal* find_formal(const Signature& version, const OperandRef& ref, bool results);

  /// Is its definition missing because of a fault that was reported? Then its uses are none.
  bool is_operator(std::string_view name) const { return !operators_.versions("", name).empty(); }
  bool is_lost(std::string_view name) const { return lost_.contains(name); }

 private:
  struct Definition {
    const ast::Alias* alias = nullptr;
    std::vector<Target> targets;
    std::string meaning;  // to compare two definitions
  };

  void define(const ast::Alias& alias);
  std::optional<Target> target(const ast::Op& op) const;
  bool is_alias(const std::string& name) const;  // in any unit, collected already or not
  void report_unknown(const ast::Op& op) const;
  bool offered_elsewhere(const std::string& name, std::string* file) const;
  // How to get a declaration of an operator that has none.
  std::string declaration_of(const OpName& op) const;

  void warn_if_nearly_declared(const ast::Op& op) const;
  bool warn_if_nearly_a_domain(const ast::Op& op) const;

  const Program& program_;
  const Operators& operators_;
  const CompileOptions& options_;
  Diagnostics& diagnostics_;
  std::map<std::string, Definition, std::less<>> aliases_;
  std::set<std::string, std::less<>> lost_;
};

}  // namespace ampc::lang
