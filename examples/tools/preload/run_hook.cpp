#include "run_hook.hpp"

#include <algorithm>
#include <alloctap/hook/inline_hook.hpp>
#include <alloctap/hook/malloc_hooks.hpp>
#include <string>

#include "alloctap/status.hpp"
#include "deep_bound_modules.hpp"
#include "option_words.hpp"
#include "redirecting_hooks.hpp"
#include "tracker_kind.hpp"

namespace alloctap::run {

void RunHook::choose(const HookSettings& settings, const void* own_code) {
  choice_ = settings.choice;
  if (&redirect_deep_bound_modules != nullptr) redirect_deep_bound_modules();
  PltHook::leave_alone(own_code);
  // dlclose is exported by every preloaded object.
  InlineHook::serves_preloaded_library();
  MallocHooks::reports_modules();
  PltHook::reports_modules();
  for (const ModulePatternSetting& pattern : settings.module_patterns()) {
    const std::string text(pattern.text);
    // An error comes back when the hook is installed.
    const auto add = [&](ModuleSelection& selection) {
      static_cast<void>(pattern.leaves_out ? selection.modules_not_matching(text)
                                           : selection.modules_matching(text));
    };
    add(PltHook::group<HeapFunctions>());
    if (settings.mappings) add(PltHook::group<MappingFunctions>());
  }
  const auto patterns = settings.module_patterns();
  const bool all = std::all_of(patterns.begin(), patterns.end(),
                               [](const auto& pattern) { return pattern.leaves_out; });
  if (all && settings.mappings) {
    PltHook::group<MappingFunctions>().modules_where([](std::string_view) { return true; });
  }
}

void RunHook::uninstall() noexcept {
  if (choice_ == HookChoice::kInterpose) return InterposeHook::uninstall();
  uninstall_redirecting_hook(choice_);
}

void RunHook::abandon() noexcept {
  if (choice_ == HookChoice::kInterpose) return InterposeHook::uninstall();
  abandon_redirecting_hook(choice_);
}

void RunHook::print_warnings() {
  if (choice_ != HookChoice::kInterpose) print_warnings_of_redirecting_hook(choice_);
}

Status RunHook::install_redirecting() {
  const auto install = tracker_kind().install_redirecting_hook;
  return install != nullptr ? install(choice_) : Status::internal("no such hook");
}

Status RunHook::explain(Status status) {
  constexpr std::string_view kOption = "--hook=";
  if (status.ok()) return status;
  std::string text = in_option_words(status.message());
  if (text.find(kOption) != text.npos) return {status.code(), text};
  text.append("; nothing is tracked; write");
  for (const std::string_view hook : kHookNames) {
    if (hook != description_of(choice_).name) text.append(" --hook=").append(hook).append(",");
  }
  text.back() = ' ';
  return {status.code(), text.append("instead")};
}

std::string_view RunHook::active_name() noexcept {
  return choice_ == HookChoice::kInterpose ? InterposeHook::name
                                           : name_of_redirecting_hook(choice_);
}

HookCapabilities RunHook::active_capabilities() noexcept {
  if (choice_ != HookChoice::kInterpose) return capabilities_of_redirecting_hook(choice_);
  HookCapabilities interpose = InterposeHook::capabilities;
  interpose.misses_allocations =
      &redirect_deep_bound_modules != nullptr && has_deep_bound_modules();
  return interpose;
}

}  // namespace alloctap::run
