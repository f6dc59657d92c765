#include "run_hook.hpp"

#include <algorithm>
#include <string>

#include "alloctap/status.hpp"
#include "deep_bound_modules.hpp"
#include "final_report.hpp"
#include "option_words.hpp"

namespace alloctap::run {

void RunHook::choose(const HookSettings& settings, const void* own_code) {
  choice_ = settings.choice;
  if (&redirect_deep_bound_modules != nullptr) redirect_deep_bound_modules();
  PltHook::leave_alone(own_code);
  // dlclose is exported by every preloaded object.
  InlineHook::serves_preloaded_library();
  MallocHooks::tells_of_modules();
  PltHook::tells_of_modules();
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
  switch (choice_) {
    case HookChoice::kInterpose:
      return InterposeHook::uninstall();
    case HookChoice::kPlt:
      return PltHook::uninstall();
    case HookChoice::kInline:
      return InlineHook::uninstall();
    case HookChoice::kMallocHooks:
      return MallocHooks::uninstall();
  }
}

void RunHook::abandon() noexcept {
  switch (choice_) {
    case HookChoice::kPlt:
      return PltHook::abandon();
    case HookChoice::kInline:
      return InlineHook::abandon();
    case HookChoice::kInterpose:
    case HookChoice::kMallocHooks:
      return uninstall();
  }
}

void RunHook::print_warnings() {
  if (choice_ != HookChoice::kPlt) return;
  const PltReport report = PltHook::report();
  for (const std::string& warning : report.warnings) print_line(in_option_words(warning));
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
  return choice_ == HookChoice::kMallocHooks ? MallocHooks::active_name()
                                             : description_of(choice_).name;
}

HookCapabilities RunHook::active_capabilities() noexcept {
  switch (choice_) {
    case HookChoice::kInterpose: {
      HookCapabilities interpose = InterposeHook::capabilities;
      interpose.misses_allocations =
          &redirect_deep_bound_modules != nullptr && has_deep_bound_modules();
      return interpose;
    }
    case HookChoice::kPlt:
      return PltHook::capabilities;
    case HookChoice::kInline:
      return InlineHook::active_capabilities();
    case HookChoice::kMallocHooks:
      return MallocHooks::active_capabilities();
  }
  return capabilities;
}

}  // namespace alloctap::run
