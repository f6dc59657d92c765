/// Status codes and results of functions that can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace alloctap {

/// Error codes; names and numbers are those of absl::StatusCode.
enum class StatusCode : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// Returns the code in capitals, such as "FAILED_PRECONDITION".
[[nodiscard]] std::string_view name_of(StatusCode code) noexcept;

/// One piece of a message. Refers to a string, or holds the formatted text of a character, truth
/// value or number. Floating-point numbers do not compile.
class MessagePart {
 public:
  explicit MessagePart(std::string_view text) noexcept : data_(text.data()), size_(text.size()) {}
  /// Accepts nullptr as the empty string.
  explicit MessagePart(const char* text) noexcept
      : MessagePart(text == nullptr ? std::string_view() : std::string_view(text)) {}
  /// The constructors below are templates to rule out implicit conversions of arguments.
  template <class Character>
    requires(std::is_same_v<Character, char>)
  explicit MessagePart(Character character) noexcept : data_(digits_), size_(1) {
    digits_[0] = character;
  }
  /// Writes "true" or "false".
  template <class Flag>
    requires(std::is_same_v<Flag, bool>)
  explicit MessagePart(Flag flag) noexcept
      : MessagePart(std::string_view(flag ? "true" : "false")) {}
  template <class Number>
    requires(std::is_integral_v<Number> && !std::is_same_v<Number, bool> &&
             !std::is_same_v<Number, char>)
  explicit MessagePart(Number number) noexcept {
    const bool negative = number < 0;
    const auto value = static_cast<std::uint64_t>(number);
    write(negative ? 0 - value : value, negative);
  }
  /// Writes the number of the enumerator.
  template <class Enumeration>
    requires(std::is_enum_v<Enumeration>)
  explicit MessagePart(Enumeration value) noexcept
      : MessagePart(+static_cast<std::underlying_type_t<Enumeration>>(value)) {}
  MessagePart(const MessagePart&) = delete;
  MessagePart& operator=(const MessagePart&) = delete;

  [[nodiscard]] std::string_view text() const noexcept { return {data_, size_}; }

 private:
  void write(std::uint64_t value, bool negative) noexcept;

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  char digits_[21];
};

/// Success, or an error code with a message that states what failed, on which object, why, and the
/// remedy. Each copy has its own message, allocated by malloc; if out of memory, the message is
/// empty. An error must not be constructed inside malloc; a success may.
class [[nodiscard]] Status {
 public:
  /// Makes a success.
  Status() noexcept = default;
  /// Ignores `message` if `code` is kOk.
  Status(StatusCode code, std::string_view message) noexcept;
  Status(const Status& other) noexcept;
  Status(Status&& other) noexcept
      : code_(std::exchange(other.code_, StatusCode::kOk)),
        message_(std::exchange(other.message_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Status& operator=(Status other) noexcept {
    std::swap(code_, other.code_);
    std::swap(message_, other.message_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Status() {
    if (message_ != nullptr) release();
  }

  /// Return an error whose message is the concatenation of `parts`: strings, characters, truth
  /// values, integers, enumerators.
  template <class... Parts>
  static Status cancelled(const Parts&... parts) noexcept {
    return make(StatusCode::kCancelled, parts...);
  }
  template <class... Parts>
  static Status invalid_argument(const Parts&... parts) noexcept {
    return make(StatusCode::kInvalidArgument, parts...);
  }
  template <class... Parts>
  static Status not_found(const Parts&... parts) noexcept {
    return make(StatusCode::kNotFound, parts...);
  }
  template <class... Parts>
  static Status already_exists(const Parts&... parts) noexcept {
    return make(StatusCode::kAlreadyExists, parts...);
  }
  template <class... Parts>
  static Status permission_denied(const Parts&... parts) noexcept {
    return make(StatusCode::kPermissionDenied, parts...);
  }
  template <class... Parts>
  static Status resource_exhausted(const Parts&... parts) noexcept {
    return make(StatusCode::kResourceExhausted, parts...);
  }
  template <class... Parts>
  static Status failed_precondition(const Parts&... parts) noexcept {
    return make(StatusCode::kFailedPrecondition, parts...);
  }
  template <class... Parts>
  static Status aborted(const Parts&... parts) noexcept {
    return make(StatusCode::kAborted, parts...);
  }
  template <class... Parts>
  static Status unimplemented(const Parts&... parts) noexcept {
    return make(StatusCode::kUnimplemented, parts...);
  }
  template <class... Parts>
  static Status internal(const Parts&... parts) noexcept {
    return make(StatusCode::kInternal, parts...);
  }
  template <class... Parts>
  static Status unavailable(const Parts&... parts) noexcept {
    return make(StatusCode::kUnavailable, parts...);
  }
  template <class... Parts>
  static Status data_loss(const Parts&... parts) noexcept {
    return make(StatusCode::kDataLoss, parts...);
  }

  /// Assigns `later` if this is a success. Keeps the first of several errors.
  void update(Status later) noexcept {
    if (ok()) *this = std::move(later);
  }

  /// Does nothing. A call documents that the caller ignores a failure.
  void ignore_error() const noexcept {}

  [[nodiscard]] bool ok() const noexcept { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const noexcept { return code_; }
  /// Returns the message; empty for success. Valid until the status is modified.
  [[nodiscard]] std::string_view message() const noexcept { return {message_, size_}; }

  friend bool operator==(const Status& a, const Status& b) noexcept {
    return a.code_ == b.code_ && a.message() == b.message();
  }

  /// Writes "OK", or code and message: "NOT_FOUND: no such file".
  template <class Stream>
  friend auto operator<<(Stream& out, const Status& status) -> decltype(out << std::string_view()) {
    out << name_of(status.code());
    return status.ok() ? out << std::string_view() : out << ": " << status.message();
  }

 private:
  template <class... Parts>
  static Status make(StatusCode code, const Parts&... parts) noexcept {
    if constexpr (sizeof...(parts) == 0) {
      return Status(code, std::string_view());
    } else {
      const MessagePart all[]{MessagePart(parts)...};
      return Status(code, all, sizeof...(parts));
    }
  }

  Status(StatusCode code, const MessagePart* parts, std::size_t count) noexcept;
  /// Allocates a message of `size` bytes. The message is empty if out of memory.
  void reserve(std::size_t size) noexcept;
  void release() noexcept;

  StatusCode code_ = StatusCode::kOk;
  char* message_ = nullptr;
  std::size_t size_ = 0;
};

/// Called if the value of an erroneous result is used. Prints the error to standard error, and
/// aborts.
[[noreturn]] void die_of_unlooked_error(const Status& status) noexcept;

/// A `T`, or the status of the failure.
template <class T>
class [[nodiscard]] Result {
  static_assert(
      requires { sizeof(T); },
      "the type of this result is only declared here: include the header of T (snapshot/leaks.hpp, "
      "snapshot/snapshot.hpp and so on; docs/configuration.md lists them)");

 public:
  using value_type = T;

  /// Makes an error with kUnknown and no message, as a placeholder.
  Result() noexcept : status_(StatusCode::kUnknown, {}) {}
  /// Makes an error. If `error` is a success, the result is an error with kInternal.
  Result(Status error) noexcept : status_(std::move(error)) {
    if (status_.ok()) status_ = Status(StatusCode::kInternal, "a result without a value");
  }
  /// Makes a success from anything convertible to `T`.
  template <class U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Status>)
  Result(U&& value) : value_(std::forward<U>(value)) {}
  Result(const Result& other)
    requires(std::is_copy_constructible_v<T>)
      : status_(other.status_) {
    if (ok()) ::new (static_cast<void*>(&value_)) T(other.value_);
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : status_(other.status_) {
    if (ok()) ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
  }
  Result& operator=(Result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    const bool has_value = other.ok();
    end_value();
    status_ = other.status_;
    if (has_value) ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
    return *this;
  }
  ~Result() { end_value(); }

  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }
  [[nodiscard]] const Status& status() const& noexcept { return status_; }
  [[nodiscard]] Status status() && noexcept { return status_; }

  /// Returns the value. Prints the error and aborts if `ok` is false.
  [[nodiscard]] T& operator*() & noexcept { return checked(); }
  [[nodiscard]] const T& operator*() const& noexcept {
    return const_cast<Result*>(this)->checked();
  }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(checked()); }
  [[nodiscard]] T* operator->() noexcept { return &checked(); }
  [[nodiscard]] const T* operator->() const noexcept {
    return &const_cast<Result*>(this)->checked();
  }

 private:
  T& checked() noexcept {
    if (!ok()) die_of_unlooked_error(status_);
    return value_;
  }

  void end_value() noexcept {
    if (ok()) value_.~T();
  }

  /// Copied but never moved from: a moved-from status is a success, as if `value_` were alive.
  Status status_;
  union {
    T value_;
  };
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/impl/status.hpp"
#endif
