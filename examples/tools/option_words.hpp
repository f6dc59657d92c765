/// The library's messages in the words of alloctap-run: its options in place of types and macros.
#pragma once

#include <absl/strings/str_replace.h>
#include <absl/strings/string_view.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "hook_settings.hpp"

namespace alloctap::run {

using Rewording = std::pair<absl::string_view, absl::string_view>;

/// What the library says, and what is said instead.
inline constexpr auto kRewordings = std::to_array<Rewording>({
    {"InterposeHook: calls of malloc do not reach this tracker. Put "
     "ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker) in one source file of the executable; a program "
     "that defines its own malloc cannot be interposed from a preloaded object",
     "nothing is tracked: the program defines its own malloc, or has an allocator linked into it, "
     "so its calls do not reach --hook=interpose; write --hook=inline, or --hook=plt for the calls "
     "of its libraries alone, both without checks"},
    {"InterposeHook: calls of memcpy do not reach this tracker, whose checks are to see them. Put "
     "ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker) beside "
     "ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker)",
     "nothing is tracked: the program defines its own memcpy, so its calls do not reach "
     "--string-checks; leave that out"},
    {"another FunctionPatch is on it", "another tracker has patched it"},
    {"PltHook and WindowsImportHook write no code", kNoCodeAdvice},
    {"patch it before so much is mapped around it, or hook its callers by PltHook, "
     "WindowsImportHook",
     kCallersAdvice},
    {" Use InterposeHook, or hook before other tools do", " Write --hook=interpose"},
    {". Call refresh() behind them", ""},
    {"ask for all that is live instead", "write --leaks=live"},
    {"the file would have more than HeaptrackDump::most_events lines; "
     "HeaptrackDump{.only_live = true} writes what is live alone",
     "the file would have more than 1,000,000,000 lines; write --dump record=PATH, or leave out "
     "--events"},
});

/// Allocates.
[[nodiscard]] inline std::string in_option_words(std::string_view message) {
  return absl::StrReplaceAll({message.data(), message.size()}, kRewordings);
}

}  // namespace alloctap::run
