#pragma once

#include "../hook_settings.hpp"

namespace alloctap::run {

enum class HookChoice : std::uint8_t { kInterpose, kPlt, kInline, kMallocHooks };
inline constexpr HookChoice kDefaultHook = HookChoice::kInterpose;

inline constexpr auto kHooks = std::to_array<HookDescription>({
    {.name = "interpose",
     .exports_malloc = true,
     .checks_blocks = true,
     .uses_guard_pages = true,
     .checks_strings = true},
    {.name = "plt", .chooses_modules = true},
    {.name = "inline"},
    {.name = "malloc-hooks", .needed_library = "libc_malloc_debug.so.0"},
});

inline constexpr char kHookHelp[] =
    "How calls are seen: interpose (all calls, by functions in front of\n"
    "the C library's), plt (calls of chosen modules, in the slots\n"
    "through which they call), inline (all calls from the start on: the\n"
    "functions themselves are patched) or malloc-hooks (what the\n"
    "allocator's own hooks tell: glibc's debug library is put in front\n"
    "of malloc).\n"
    "Default: interpose.";
/// Whether there is an object that tells tags.
inline constexpr bool kHasTags = true;
/// What to do where functions cannot be patched: because of a policy, or of where they lie.
inline constexpr char kNoCodeAdvice[] = "--hook=plt writes no code";
inline constexpr char kCallersAdvice[] = "write --hook=plt";
inline constexpr char kMappingsHelp[] =
    "Whether mmap and its relatives are tracked too. Default: on.";

}  // namespace alloctap::run
