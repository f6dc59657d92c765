/// The object that is preloaded into the program.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "hook_settings.hpp"

namespace alloctap::run {

/// The absolute path of the object for `hook`, which stands at a fixed place beside this
/// executable; of the one that logs events if `logs_events`.
[[nodiscard]] absl::StatusOr<std::string> find_preload_object(HookChoice hook, bool logs_events);

/// The value of LD_PRELOAD with `object` in front of what was there, and there only; the one that
/// it stands for is taken out. The library that `hook` needs comes last, so that an allocator which
/// the user preloads stays the program's.
[[nodiscard]] std::string make_preload(const std::string& object, HookChoice hook,
                                       const std::string& existing);

}  // namespace alloctap::run
