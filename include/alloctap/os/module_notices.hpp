/// Being told of modules when the loader brings them, and when it takes them away.
#pragma once

#include <cstdint>
#include <string_view>

namespace alloctap::os {

/// A module that is about to run its first code, or that has run its last and is still in memory.
struct ModuleNotice {
  enum class What : std::uint8_t { kLoaded, kUnloading };

  What what = What::kLoaded;
  std::uintptr_t start = 0;
  /// One past the last byte that it occupies.
  std::uintptr_t end = 0;
  /// UTF-8, with '/' between its parts; empty where it is unknown. Valid during the call.
  std::string_view path;
};

/// Has a function called for each module that comes or goes; modules that were there before are not
/// told of. The loader's lock is held meanwhile, and notices come one at a time: the function
/// allocates nothing of the host's, calls no function of the loader, and waits for no thread that
/// might. Constant-initialized, never destroyed. Not thread-safe.
class ModuleNotices {
 public:
  using Listener = void (*)(const ModuleNotice&) noexcept;

  constexpr explicit ModuleNotices(Listener listener) noexcept : listener_(listener) {}
  ModuleNotices(const ModuleNotices&) = delete;
  ModuleNotices& operator=(const ModuleNotices&) = delete;

  /// 0, or the negated system error. The listener's module is never unloaded from then on: the
  /// loader would go on calling it. Takes the loader's locks: control plane, and holding no lock of
  /// which a listener may have need.
  [[nodiscard]] int start() noexcept;

  /// No call is under way, and none comes any more. Takes the loader's locks, too.
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
