/// What statuses say.
#pragma once

#include <string>
#include <string_view>

#include "alloctap/status.hpp"

namespace alloctap::testing {

/// Returns whether the message of `status` has `text` in it.
[[nodiscard]] inline bool says(const Status& status, std::string_view text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace alloctap::testing
