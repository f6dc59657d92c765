/// Keeps two backends from counting one call twice.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/hook/hook_backend.hpp"

namespace alloctap {

/// Which targets have a backend installed, for all trackers of the process. Thread-safe.
class HookClaims {
 public:
  /// False where another tracker has a backend on `target`. Manual hooks never count a call twice:
  /// each program's own call goes to one of them.
  [[nodiscard]] static bool claim(HookTarget target) noexcept {
    return target == HookTarget::kManual ||
           (claimed_.fetch_or(bit(target), std::memory_order_acq_rel) & bit(target)) == 0;
  }

  static void release(HookTarget target) noexcept {
    claimed_.fetch_and(~bit(target), std::memory_order_acq_rel);
  }

 private:
  static constexpr std::uint32_t bit(HookTarget target) noexcept {
    return std::uint32_t{1} << static_cast<std::uint8_t>(target);
  }

  static inline constinit std::atomic<std::uint32_t> claimed_{0};
};

}  // namespace alloctap
