#pragma once

#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

/// Returns the mprotect flag for branch target checks (PROT_BTI) if the processor supports these
/// checks (HWCAP2_BTI), otherwise 0. The numbers are kernel ABI; old headers lack them.
int branch_guard() noexcept;

inline std::string why_code_is_forbidden() {
  return "SELinux, a seccomp filter or PR_SET_MDWE may forbid it";
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_protection.hpp"
#endif
