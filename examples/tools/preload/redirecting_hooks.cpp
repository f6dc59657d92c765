#include "redirecting_hooks.hpp"

#include <alloctap/hook/inline_hook.hpp>
#include <alloctap/hook/malloc_hooks.hpp>
#include <alloctap/hook/plt_hook.hpp>
#include <string>

#include "final_report.hpp"
#include "option_words.hpp"

namespace alloctap::run {

void uninstall_redirecting_hook(HookChoice choice) noexcept {
  switch (choice) {
    case HookChoice::kPlt:
      return PltHook::uninstall();
    case HookChoice::kInline:
      return InlineHook::uninstall();
    case HookChoice::kMallocHooks:
      return MallocHooks::uninstall();
    case HookChoice::kInterpose:
      return;
  }
}

void abandon_redirecting_hook(HookChoice choice) noexcept {
  switch (choice) {
    case HookChoice::kPlt:
      return PltHook::abandon();
    case HookChoice::kInline:
      return InlineHook::abandon();
    case HookChoice::kInterpose:
    case HookChoice::kMallocHooks:
      return uninstall_redirecting_hook(choice);
  }
}

std::string_view name_of_redirecting_hook(HookChoice choice) noexcept {
  return choice == HookChoice::kMallocHooks ? MallocHooks::active_name()
                                            : description_of(choice).name;
}

HookCapabilities capabilities_of_redirecting_hook(HookChoice choice) noexcept {
  if (choice == HookChoice::kInline) return InlineHook::active_capabilities();
  if (choice == HookChoice::kMallocHooks) return MallocHooks::active_capabilities();
  return PltHook::capabilities;
}

void print_warnings_of_redirecting_hook(HookChoice choice) {
  if (choice != HookChoice::kPlt) return;
  const PltReport report = PltHook::report();
  for (const std::string& warning : report.warnings) print_line(in_option_words(warning));
}

}  // namespace alloctap::run
