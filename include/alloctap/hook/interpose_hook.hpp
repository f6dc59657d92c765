/// Backend that interposes the malloc family in front of the C library's functions (ELF).
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/block_spacing.hpp"
#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/interposed_originals.hpp"
#include "alloctap/hook/strings/string_originals.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Interposed mprotect, pkey_mprotect and madvise. Notifies a `CheckingSink` of the pages that the
/// program protects or discards, because checked blocks may lie in the pages. Calls nested in
/// another allocator call are not reported. The originals are looked up in `install`, not at the
/// first call, because that call may come from a signal handler. Before `install`, calls go
/// directly to the system. May run inside malloc.
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

/// Backend that sees the calls of every module, including ld.so, and calls before main. Needs
/// `ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker)` (interposed_malloc.hpp) in exactly one source file.
/// The file belongs to the executable or to an object that LD_PRELOAD names. After the tracker
/// stops, calls pass through to the C library.
struct InterposeHook {
  static constexpr std::string_view name = "interpose";
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = true,
      .checks_blocks = true,
      .uses_guard_pages = true,
      .may_refuse = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      .blind_spots =
          "calls bound inside a module (static allocators, -Bsymbolic, RTLD_DEEPBIND), memory that "
          "the C library maps for itself (thread stacks, the heap's own pages), raw system calls",
  };

  template <EventSink Sink>
  static Status install() {
    using Originals = InterposedOriginals<Sink>;
    Originals::find_all_once();
    if (!calls_arrive<Originals>()) {
      return Status::failed_precondition(
          "InterposeHook: calls of malloc do not reach this tracker. Put "
          "ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker) in one source file of the executable; a "
          "program that defines its own malloc cannot be interposed from a preloaded object");
    }
    if constexpr (AccessSink<Sink>) {
      if (Sink::checks_strings() && !string_calls_arrive<Sink>()) {
        return Status::failed_precondition(
            "InterposeHook: calls of memcpy do not reach this tracker, whose checks are to see "
            "them. "
            "Put ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker) beside "
            "ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker)");
      }
    }
    // Skipped if blocks are checked, because the sink then chooses the blocks' addresses.
    if constexpr (!CheckingSink<Sink> && requires { Sink::set_min_block_spacing(std::size_t{}); }) {
      Sink::set_min_block_spacing(BlockSpacing<Originals>::find());
    }
    InterposedPages<Sink>::find_originals();
    stop_ = &stop_recording<Sink>;
    Originals::set_recording(true);
    return Status();
  }

  static void uninstall() noexcept {
    if (stop_ != nullptr) stop_();
  }

 private:
  /// Returns true if a malloc call through the address that other modules use reaches this hook. A
  /// direct call would prove nothing, because the linker may bind it to the malloc of this library.
  template <class Originals>
  static bool calls_arrive() noexcept {
    auto* const allocate = reinterpret_cast<void* (*)(std::size_t)>(os::default_symbol("malloc"));
    auto* const release = reinterpret_cast<void (*)(void*)>(os::default_symbol("free"));
    if (allocate == nullptr || release == nullptr) return false;
    Originals::forget_stand_in();
    const UseInternalArena own;
    void* const block = allocate(1);
    const bool arrived = Originals::stand_in_used();
    release(block);
    return arrived;
  }

  template <EventSink Sink>
  static void stop_recording() noexcept {
    InterposedOriginals<Sink>::set_recording(false);
  }

  using Stop = void (*)() noexcept;
  static inline constinit Stop stop_ = nullptr;
};

static_assert(HookBackend<InterposeHook>);

/// Handlers of the interposed functions. Run inside malloc.
template <EventSink Sink>
using InterposedCall = CallWrapper<InterposedOriginals<Sink>, Sink>;

}  // namespace alloctap
