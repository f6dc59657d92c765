/// The hook that the user chose.
#pragma once

#include <alloctap/hook/inline_hook.hpp>
#include <alloctap/hook/interpose_hook.hpp>
#include <alloctap/hook/malloc_hooks.hpp>
#include <alloctap/hook/plt_hook.hpp>
#include <string_view>

#include "alloctap/status.hpp"
#include "hook_settings.hpp"

namespace alloctap::run {

/// One of several backends, chosen before the tracker starts. The objects that are preloaded for
/// them hold the same code, and differ in what they export: where malloc is not exported, the
/// functions of InterposeHook serve this object alone, and keep its memory apart from the
/// program's while a report is written.
struct RunHook {
  static constexpr std::string_view name = "alloctap-run";
  static constexpr HookCapabilities capabilities = PltHook::capabilities;
  /// The one that checks blocks.
  using Checking = InterposeHook;

  /// Copies what it needs. The module that holds `own_code` is not tracked.
  static void choose(const HookSettings& settings, const void* own_code);

  template <EventSink Sink>
  static Status install() {
    switch (choice_) {
      case HookChoice::kInterpose:
        return explain(InterposeHook::install<Sink>());
      case HookChoice::kPlt:
        return explain(PltHook::install<Sink>());
      case HookChoice::kInline:
        return explain(InlineHook::install<Sink>());
      case HookChoice::kMallocHooks:
        return explain(MallocHooks::install<Sink>());
    }
    return Status::internal("no such hook");
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

  static inline constinit HookChoice choice_ = HookChoice::kInterpose;
};

static_assert(HookBackend<RunHook>);

}  // namespace alloctap::run
