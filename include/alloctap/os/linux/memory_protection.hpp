#pragma once

#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

/// What mprotect takes for pages whose branch targets are checked (PROT_BTI), where it does
/// (HWCAP2_BTI). The numbers are the kernel's ABI; old headers lack them.
int branch_guard() noexcept;

bool protect_pages(std::uintptr_t address, std::size_t bytes, Protection protection) noexcept;

/// The kernel adds 0 to a word of each page, or says that it cannot: FUTEX_WAKE_OP of futex(2),
/// which every malloc with threads needs, so that filters of system calls let it pass.
bool may_write(std::uintptr_t address, std::size_t bytes) noexcept;

inline std::string why_code_is_forbidden() {
  return "SELinux, a seccomp filter or PR_SET_MDWE may forbid it";
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_protection.hpp"
#endif
