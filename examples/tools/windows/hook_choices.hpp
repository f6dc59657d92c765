#pragma once

#include "../hook_settings.hpp"

namespace alloctap::run {

enum class HookChoice : std::uint8_t { kInline, kImports };
inline constexpr HookChoice kDefaultHook = HookChoice::kInline;

inline constexpr auto kHooks = std::to_array<HookDescription>({
    {.name = "inline", .checks_blocks = true, .uses_guard_pages = true, .checks_strings = true},
    {.name = "imports"},
});

inline constexpr char kHookHelp[] =
    "How calls are seen: inline (all calls: the functions of ntdll.dll\n"
    "that they end in are patched) or imports (those that go through\n"
    "modules' import tables; for programs that forbid patches of code).\n"
    "Default: inline.";
/// Whether there is an object that tells tags.
inline constexpr bool kHasTags = false;
/// What to do where functions cannot be patched: because of a policy, or of where they lie.
inline constexpr char kNoCodeAdvice[] = "--hook=imports writes no code";
inline constexpr char kCallersAdvice[] = "write --hook=imports";
inline constexpr char kMappingsHelp[] =
    "Whether VirtualAlloc, MapViewOfFile and their relatives are tracked\n"
    "too. Default: on.";

}  // namespace alloctap::run
