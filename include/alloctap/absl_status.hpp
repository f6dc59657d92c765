/// Conversions between alloctap's and Abseil's status types. No other light header needs Abseil.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string_view>
#include <utility>

#include "alloctap/status.hpp"

namespace alloctap {

/// Converts code and message. Allocates; must not be called inside malloc.
[[nodiscard]] inline absl::Status to_absl(const Status& status) {
  const std::string_view message = status.message();
  return absl::Status(static_cast<absl::StatusCode>(status.code()),
                      absl::string_view(message.data(), message.size()));
}

[[nodiscard]] inline Status from_absl(const absl::Status& status) {
  const absl::string_view message = status.message();
  return Status(static_cast<StatusCode>(status.code()), {message.data(), message.size()});
}

/// Converts a result; moves the value.
template <class T>
[[nodiscard]] absl::StatusOr<T> to_absl(Result<T> result) {
  if (!result.ok()) return to_absl(result.status());
  return *std::move(result);
}

template <class T>
[[nodiscard]] Result<T> from_absl(absl::StatusOr<T> result) {
  if (!result.ok()) return from_absl(result.status());
  return *std::move(result);
}

}  // namespace alloctap
