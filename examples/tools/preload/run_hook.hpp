/// The hook that the user chose.
#pragma once

#include <alloctap/hook/interpose_hook.hpp>
#include <alloctap/hook/plt_hook.hpp>
#include <string_view>

#include "alloctap/status.hpp"
#include "hook_settings.hpp"

namespace alloctap::run {

/// One of several backends, chosen before the tracker starts. An object that exports malloc has
/// InterposeHook alone, another one the rest: there the functions of malloc serve this object, and
/// keep its memory apart from the program's while a report is written.
struct RunHook {
  static constexpr std::string_view name = "alloctap-run";
  static constexpr HookFeatures features{.active_capabilities = true, .active_name = true};
  static constexpr HookCapabilities capabilities = PltHook::capabilities;
  /// The one that checks blocks.
  using Checking = InterposeHook;

  /// Copies what it needs. The module that holds `own_code` is not tracked.
  static void choose(const HookSettings& settings, const void* own_code);

  template <EventSink Sink>
  static Status install() {
    if (choice_ != HookChoice::kInterpose) return explain(install_redirecting());
    return explain(InterposeHook::install<Sink>());
  }

  static void uninstall() noexcept;

  /// In a forked child that is not tracked.
  static void abandon() noexcept;

  /// Tells standard error of patterns without effect.
  static void print_warnings();

  [[nodiscard]] static std::string_view active_name() noexcept;
  [[nodiscard]] static HookCapabilities active_capabilities() noexcept;

 private:
  /// Adds to what failed in a hook which others may be written.
  static Status explain(Status status);

  static Status install_redirecting();

  static inline constinit HookChoice choice_ = HookChoice::kInterpose;
};

static_assert(HookBackend<RunHook>);

}  // namespace alloctap::run
