/// The hook that the user chose.
#pragma once

#include <alloctap/hook/windows_heap_hook.hpp>
#include <alloctap/hook/windows_import_hook.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/status.hpp"
#include "hook_settings.hpp"

namespace alloctap::run {

/// One of the two backends of Windows, chosen before the tracker starts.
struct RunHook {
  static constexpr std::string_view name = "alloctap-run";
  static constexpr HookFeatures features{
      .active_capabilities = true, .active_name = true, .earlier_blocks = true};
  static constexpr HookCapabilities capabilities = WindowsImportHook::capabilities;
  /// The one that checks blocks.
  using Checking = WindowsHeapHook;

  static void choose(HookChoice choice) noexcept { choice_ = choice; }

  template <EventSink Sink>
  static Status install() {
    return patches_code() ? WindowsHeapHook::install<Sink>() : WindowsImportHook::install<Sink>();
  }

  static void uninstall() noexcept {
    patches_code() ? WindowsHeapHook::uninstall() : WindowsImportHook::uninstall();
  }

  /// Whether the program's policies have to allow that code is changed.
  [[nodiscard]] static bool patches_code() noexcept { return choice_ == HookChoice::kInline; }

  [[nodiscard]] static std::string_view active_name() noexcept {
    return patches_code() ? WindowsHeapHook::name : WindowsImportHook::name;
  }
  [[nodiscard]] static HookCapabilities active_capabilities() noexcept {
    return patches_code() ? WindowsHeapHook::capabilities : WindowsImportHook::capabilities;
  }
  [[nodiscard]] static std::optional<std::span<const AddressRange>> earlier_blocks() noexcept {
    return patches_code() ? WindowsHeapHook::earlier_blocks() : std::nullopt;
  }

 private:
  static inline constinit HookChoice choice_ = kDefaultHook;
};

static_assert(HookBackend<RunHook>);

}  // namespace alloctap::run
