/// Definitions for hook/hook_backend.hpp.
#pragma once

#include "alloctap/hook/hook_backend.hpp"

namespace alloctap {

ALLOCTAP_INLINE const std::string_view* HookClaims::claim(HookTarget target,
                                                          const std::string_view& name) noexcept {
  if (target == HookTarget::kManual) return nullptr;
  const std::string_view* holder = nullptr;
  holders_[index(target)].compare_exchange_strong(holder, &name, std::memory_order_acq_rel);
  return holder;
}

}  // namespace alloctap
