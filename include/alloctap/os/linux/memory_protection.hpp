#pragma once

#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

/// What mprotect takes for pages whose branch targets are checked (PROT_BTI), where it does
/// (HWCAP2_BTI). The numbers are the kernel's ABI; old headers lack them.
int branch_guard() noexcept;

inline std::string why_code_is_forbidden() {
  return "SELinux, a seccomp filter or PR_SET_MDWE may forbid it";
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_protection.hpp"
#endif
