// What a run knows of operators: onnx's schemas, and what its rule files declare.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ampc/model/schemas.h"

namespace ampc {

class Operators {
 public:
  Operators() = default;
  /// Declared operators; none may be known to onnx's schemas, nor stand there twice.
  explicit Operators(std::vector<Signature> declared);
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;
  ~Operators() = default;

  /// As those of Schemas, the declared ones among them.
  const Signature* find(std::string_view domain, std::string_view op, int version) const;
  std::span<const Signature* const> versions(std::string_view domain, std::string_view op) const;
  std::vector<std::string_view> operators(std::string_view domain) const;
  std::vector<std::string_view> domains() const;

  /// Sorted by domain, name and version.
  std::span<const Signature> declared() const { return declared_; }

 private:
  std::vector<Signature> declared_;
  std::map<std::string, std::map<std::string, std::vector<const Signature*>, std::less<>>, std::less<>> by_name_;
};

}  // namespace ampc
