/// The hooks that redirect the calls of others, for objects that export no malloc; null in others.
#pragma once

#include <alloctap/hook/hook_backend.hpp>
#include <string_view>

#include "hook_settings.hpp"
#include "if_linked.hpp"

namespace alloctap::run {

/// Call the function with that purpose of the hook `choice`.
ALLOCTAP_IF_LINKED void uninstall_redirecting_hook(HookChoice choice) noexcept;
ALLOCTAP_IF_LINKED void abandon_redirecting_hook(HookChoice choice) noexcept;
[[nodiscard]] ALLOCTAP_IF_LINKED std::string_view name_of_redirecting_hook(
    HookChoice choice) noexcept;
[[nodiscard]] ALLOCTAP_IF_LINKED HookCapabilities
capabilities_of_redirecting_hook(HookChoice choice) noexcept;
/// Prints which patterns for modules have no effect.
ALLOCTAP_IF_LINKED void print_warnings_of_redirecting_hook(HookChoice choice);

}  // namespace alloctap::run
