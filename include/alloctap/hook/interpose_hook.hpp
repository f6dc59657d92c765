/// Backend that interposes the malloc family in front of the C library's functions (ELF).
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>

#include "alloctap/hook/block_spacing.hpp"
#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/interposed_originals.hpp"
#include "alloctap/hook/interposed_pages.hpp"
#include "alloctap/hook/strings/string_originals.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

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
  /// direct call proves nothing, because the linker may bind it inside this library.
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
