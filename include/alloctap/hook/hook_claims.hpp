/// Registry that keeps two backends from hooking one target.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "alloctap/hook/hook_backend.hpp"

namespace alloctap {

/// Set of the targets on which a tracker of this process has a backend installed. Thread-safe.
class HookClaims {
 public:
  /// Claims `target` for the backend called `name`, which must have static storage duration.
  /// Returns nullptr on success, else the name of the backend that already holds `target`. A claim
  /// of `kManual` always succeeds, because a call of the program reports to only one manual hook.
  [[nodiscard]] static const std::string_view* claim(HookTarget target,
                                                     const std::string_view& name) noexcept;

  static void release(HookTarget target) noexcept {
    holders_[index(target)].store(nullptr, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kTargets = static_cast<std::size_t>(HookTarget::kManual) + 1;

  static constexpr std::size_t index(HookTarget target) noexcept {
    return static_cast<std::size_t>(target);
  }

  static inline constinit std::array<std::atomic<const std::string_view*>, kTargets> holders_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/impl/hook_claims.hpp"
#endif
