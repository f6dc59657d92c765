/// Function bodies of status.hpp.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string_view name_of(StatusCode code) noexcept {
  constexpr std::string_view kNames[]{"OK",
                                      "CANCELLED",
                                      "UNKNOWN",
                                      "INVALID_ARGUMENT",
                                      "DEADLINE_EXCEEDED",
                                      "NOT_FOUND",
                                      "ALREADY_EXISTS",
                                      "PERMISSION_DENIED",
                                      "RESOURCE_EXHAUSTED",
                                      "FAILED_PRECONDITION",
                                      "ABORTED",
                                      "OUT_OF_RANGE",
                                      "UNIMPLEMENTED",
                                      "INTERNAL",
                                      "UNAVAILABLE",
                                      "DATA_LOSS",
                                      "UNAUTHENTICATED"};
  const auto number = static_cast<std::size_t>(code);
  return number < sizeof kNames / sizeof kNames[0] ? kNames[number] : "UNKNOWN";
}

ALLOCTAP_INLINE void MessagePart::write(std::uint64_t value, bool negative) noexcept {
  char* digit = digits_ + sizeof digits_;
  do {
    *--digit = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  if (negative) *--digit = '-';
  data_ = digit;
  size_ = static_cast<std::size_t>(digits_ + sizeof digits_ - digit);
}

ALLOCTAP_INLINE Status::Status(StatusCode code, std::string_view message) noexcept : code_(code) {
  if (code == StatusCode::kOk) return;
  reserve(message.size());
  if (size_ > 0) std::memcpy(message_, message.data(), size_);
}

ALLOCTAP_INLINE Status::Status(const Status& other) noexcept
    : Status(other.code_, other.message()) {}

ALLOCTAP_INLINE Status::Status(StatusCode code, const MessagePart* parts,
                               std::size_t count) noexcept
    : code_(code) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += parts[i].text().size();
  reserve(size);
  char* end = message_;
  for (std::size_t i = 0; i < count && size_ > 0; ++i) {
    const std::string_view text = parts[i].text();
    if (!text.empty()) std::memcpy(end, text.data(), text.size());
    end += text.size();
  }
}

ALLOCTAP_INLINE void Status::reserve(std::size_t size) noexcept {
  if (size == 0) return;
  message_ = static_cast<char*>(std::malloc(size));
  if (message_ != nullptr) size_ = size;
}

ALLOCTAP_INLINE void Status::release() noexcept { std::free(message_); }

[[noreturn]] ALLOCTAP_INLINE void die_of_unlooked_error(const Status& status) noexcept {
  const std::string_view name = name_of(status.code());
  std::fprintf(stderr, "alloctap: a result was used that is an error: %.*s: %.*s\n",
               static_cast<int>(name.size()), name.data(),
               static_cast<int>(status.message().size()), status.message().data());
  std::abort();
}

}  // namespace alloctap
