/// The bodies of symbol/unloaded_module_queue.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/unloaded_module_queue.hpp"

namespace alloctap {

ALLOCTAP_INLINE void UnloadedModuleQueue::add(const Module& module, StackId before) noexcept {
  const std::size_t end = end_.load(std::memory_order_relaxed);
  if (end - begin_.load(std::memory_order_acquire) == kCapacity) {
    overflow_.store(true, std::memory_order_relaxed);
    return;
  }
  Entry& entry = entries_[end % kCapacity];
  entry.module = module;
  const std::size_t length = std::min(module.path.size(), entry.path.size());
  std::memcpy(entry.path.data(), module.path.data(), length);
  entry.module.path = {entry.path.data(), length};
  entry.before = before;
  end_.store(end + 1, std::memory_order_release);
}

}  // namespace alloctap
