#pragma once

#include <cerrno>

#include "alloctap/os/module_notices.hpp"

namespace alloctap::os {

/// The loader notifies only debuggers, so backends hook dlopen and dlclose instead.
inline constexpr bool kLoaderGivesNotice = false;

inline int ModuleNotices::start() noexcept { return -ENOSYS; }
inline void ModuleNotices::stop() noexcept {}

}  // namespace alloctap::os
