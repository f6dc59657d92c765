/// Interposed mprotect, pkey_mprotect and madvise.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/os/next_symbol.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Notifies a `CheckingSink` of the pages that the program protects or discards, because checked
/// blocks may lie in the pages. Calls nested in another allocator call are not reported. `install`
/// looks up the originals, because programs may call these functions in signal handlers. Before
/// `install`, calls go directly to the system. May run inside malloc.
template <EventSink Sink>
class InterposedPages {
 public:
  static int protect(void* address, std::size_t bytes, int protection) noexcept {
    Protect* const original = protect_.load(std::memory_order_acquire);
    const int error =
        (original == nullptr ? &os::system_mprotect : original)(address, bytes, protection);
    if (error == 0) notify(address, bytes, PageChange::kProtected);
    return error;
  }

  static int protect_by_key(void* address, std::size_t bytes, int protection, int key) noexcept {
    ProtectByKey* const original = protect_by_key_.load(std::memory_order_acquire);
    const int error = (original == nullptr ? &os::system_pkey_mprotect : original)(address, bytes,
                                                                                   protection, key);
    if (error == 0) notify(address, bytes, PageChange::kProtected);
    return error;
  }

  static int advise(void* address, std::size_t bytes, int advice) noexcept {
    Advise* const original = advise_.load(std::memory_order_acquire);
    const int error =
        (original == nullptr ? &os::system_madvise : original)(address, bytes, advice);
    if (error != 0) return error;
    if (os::discards_pages(advice)) notify(address, bytes, PageChange::kDiscarded);
    if (os::closes_pages(advice)) notify(address, bytes, PageChange::kReplaced);
    return error;
  }

  static void find_originals() noexcept {
    const UseInternalArena own;
    find(protect_, "mprotect");
    find(protect_by_key_, "pkey_mprotect");
    find(advise_, "madvise");
  }

 private:
  using Protect = int(void*, std::size_t, int) noexcept;
  using ProtectByKey = int(void*, std::size_t, int, int) noexcept;
  using Advise = int(void*, std::size_t, int) noexcept;

  template <class Function>
  static void find(std::atomic<Function*>& original, const char* name) noexcept {
    original.store(reinterpret_cast<Function*>(os::next_symbol(name)), std::memory_order_release);
  }

  static void notify(void* address, std::size_t bytes, PageChange change) noexcept {
    if constexpr (CheckingSink<Sink>) {
      const ReentrancyGuard guard;
      if (guard.is_outermost()) Sink::on_page_change(address, bytes, change);
    }
  }

  static inline constinit std::atomic<Protect*> protect_{nullptr};
  static inline constinit std::atomic<ProtectByKey*> protect_by_key_{nullptr};
  static inline constinit std::atomic<Advise*> advise_{nullptr};
};

}  // namespace alloctap
