/// Keeps two backends from counting one call twice.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "alloctap/hook/hook_backend.hpp"

namespace alloctap {

/// Which targets have a backend installed, for all trackers of the process. Thread-safe.
class HookClaims {
 public:
  /// Claims `target` for the backend called `name`, whose text lives for ever. Returns the name of
  /// the backend that another tracker has on it; nullptr where the claim holds. Manual hooks never
  /// count a call twice: each program's own call goes to one of them.
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
