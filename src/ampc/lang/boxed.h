// A value that is seldom there, kept outside of what has it: where it is missing it takes one pointer.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace ampc::lang {

/// As std::optional, but on the heap. A copy copies the value.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  Boxed(std::optional<T> value) {                                    // NOLINT(google-explicit-constructor)
    if (value.has_value()) value_ = std::make_unique<T>(*std::move(value));
  }
  Boxed(const Boxed& other) : value_(other.value_ != nullptr ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace ampc::lang
