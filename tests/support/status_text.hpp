/// What statuses say.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace alloctap::testing {

/// Returns whether the message of `status` has `text` in it.
[[nodiscard]] inline bool says(const absl::Status& status, std::string_view text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace alloctap::testing
