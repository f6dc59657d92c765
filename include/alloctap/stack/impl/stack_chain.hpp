/// The bodies of stack/stack_chain.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/stack_chain.hpp"

namespace alloctap {

ALLOCTAP_INLINE void StackChain::move_to(const os::StackBounds& stack) noexcept {
  bounds = stack;
  chain.cut_to(0);
  serial = next_serial();
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool StackChain::restart(std::size_t frames,
                                                           const void* wanted_rules,
                                                           std::uint64_t wanted_epoch) noexcept {
  if (chain.capacity() < frames && !chain.reserve(frames)) return false;
  chain.cut_to(0);
  rules = wanted_rules;
  epoch = wanted_epoch;
  serial = next_serial();
  return true;
}

}  // namespace alloctap
