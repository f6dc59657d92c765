#pragma once

#include <string>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// Adds to a list of checks those that `value` of --guard-pages means: "all" or "1/N", and then
/// perhaps a comma and an edge. The error says what may be written.
[[nodiscard]] Status add_guard_pages(const std::string& value, std::string& checks);

}  // namespace alloctap::run
