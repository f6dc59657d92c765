/// Notification of modules that the loader loads and unloads.
#pragma once

#include <cstdint>
#include <string_view>

namespace alloctap::os {

/// A mapped module, none of whose code has run yet, or all of whose code has run for the last time.
struct ModuleNotice {
  enum class What : std::uint8_t { kLoaded, kUnloading };

  What what = What::kLoaded;
  std::uintptr_t start = 0;
  /// One past the module's last byte.
  std::uintptr_t end = 0;
  /// UTF-8 path with '/' separators; empty if unknown. Valid during the call.
  std::string_view path;
};

/// A subscription: calls a function for each module loaded or unloaded while it is active. Calls
/// are serialized and made with the loader lock held. The listener must not call malloc or the
/// loader, or wait for a thread that may do either. Constant-initialized, never destroyed. Not
/// thread-safe.
class ModuleNotices {
 public:
  using Listener = void (*)(const ModuleNotice&) noexcept;

  constexpr explicit ModuleNotices(Listener listener) noexcept : listener_(listener) {}
  ModuleNotices(const ModuleNotices&) = delete;
  ModuleNotices& operator=(const ModuleNotices&) = delete;

  /// Starts the notification. Returns 0 or the negated system error. Pins the module that contains
  /// the listener, because the loader would call the listener even after an unload. Control plane:
  /// takes the loader's locks, so the caller must hold no lock that a listener may need.
  [[nodiscard]] int start() noexcept;

  /// Stops the notification and waits for a running call. Takes the loader's locks: control plane.
  void stop() noexcept;

 private:
  Listener listener_;
  void* registration_ = nullptr;

  friend struct ModuleNoticeCall;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/module_notices.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/module_notices.hpp"
#else
#error "alloctap/os/module_notices.hpp has no implementation for this system"
#endif
