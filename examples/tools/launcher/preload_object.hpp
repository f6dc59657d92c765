/// The object that is preloaded into the program.
#pragma once

#include <cstdint>
#include <string>

#include "alloctap/status.hpp"
#include "hook_settings.hpp"

namespace alloctap::run {

/// What an object can do beyond counting all blocks.
enum class ObjectKind : std::uint8_t {
  kCounts,
  kChoosesBlocks,
  kLogsEvents,
  kWithTags,
  kChecksBlocks,
  kChecksStrings
};

/// The absolute path of the object of that kind for `hook`, which stands at a fixed place beside
/// this executable.
[[nodiscard]] Result<std::string> find_preload_object(HookChoice hook, ObjectKind kind);

/// The value of LD_PRELOAD with `object` in front of what was there, and there only; the one that
/// it stands for is taken out. The library that `hook` needs comes last, so that an allocator which
/// the user preloads stays the program's.
[[nodiscard]] std::string make_preload(const std::string& object, HookChoice hook,
                                       const std::string& existing);

}  // namespace alloctap::run
