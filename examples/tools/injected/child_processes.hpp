/// The processes that the tracked program starts.
#pragma once

#include <string_view>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// From now on each process that this one starts is tracked as this one is, by the same library and
/// these settings, a text as settings.hpp has it that is copied. What cannot be tracked, such as a
/// 32-bit program, runs on without, and one line on standard error says why. Processes that a
/// service starts in this one's place are not seen. Lasts as long as the process; control plane.
[[nodiscard]] Status follow_children(std::string_view settings);

}  // namespace alloctap::run
