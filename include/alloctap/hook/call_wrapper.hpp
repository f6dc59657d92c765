/// Handlers between a hooked call and the allocator, for backends on ELF systems. Run inside
/// malloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/checked_call.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers of one backend for one sink: one handler per `CallRole`. Each handler is inlined into
/// its entry point, which passes a `CallOrigin`. A handler's steps, in order:
///
///   1. With `Originals::kHandsOutStandIns`, operators that the program replaces pass through, and
///      blocks of the bootstrap arena never reach the host's allocator.
///   2. A `RefusingSink` may make an allocation fail; a failed allocation is not recorded.
///   3. Only a thread's outermost call is recorded; calls nested inside it pass through.
///   4. A `CheckingSink` lays out and checks blocks (`CheckedCall`).
///   5. Allocations are recorded after the real call. Frees, and the old block of a reallocation,
///      are recorded before the real call, because afterwards another thread may own the address.
///
/// `Originals::get<Function>()` returns the real function, never null. `Originals::recording()`
/// returns true while a tracker records.
template <class Originals, EventSink Sink>
struct CallWrapper {
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto allocate(const CallOrigin& origin, Arguments... arguments) {
    if constexpr (kHandsOutStandIns) {
      if (ProgramOperators::serve<Function>()) [[unlikely]] {
        return Originals::template get<Function>()(arguments...);
      }
    }
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return FaultInjectedCall<Sink>::template call<Function>(
            origin, Function::request(arguments...).size,
            [=](const auto& from) { return call_allocate<Function>(from, arguments...); });
      }
    }
    return call_allocate<Function>(origin, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int allocate_into(const CallOrigin& origin, void** result,
                                                  Arguments... arguments) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return FaultInjectedCall<Sink>::template call<Function>(
            origin, Function::request(result, arguments...).size, [=](const auto& from) {
              return call_allocate_into<Function>(from, result, arguments...);
            });
      }
    }
    return call_allocate_into<Function>(origin, result, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, void* old,
                                                 Arguments... arguments) {
    if (owned_by_bootstrap(old)) [[unlikely]] {
      return move_out<Function>(origin, old, arguments...);
    }
    return reallocate_or_refuse<Function>(origin, old, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void deallocate(const CallOrigin& origin, void* block,
                                                Arguments... arguments) {
    if constexpr (kHandsOutStandIns) {
      if (ProgramOperators::serve<Function>()) [[unlikely]] {
        return Originals::template get<Function>()(block, arguments...);
      }
    }
    if (owned_by_bootstrap(block)) [[unlikely]] {
      return;
    }
    // Tests for null first, because some programs free null pointers more often than blocks.
    if (kIgnoresNull<Function> && block == nullptr) return;
    call_deallocate<Function>(origin, block, arguments...);
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* map(const CallOrigin& origin, void* address,
                                          std::size_t length, int protection, int flags, int file,
                                          os::FileOffset offset) {
    const ReentrancyGuard guard;
    void* const result =
        Originals::template get<Function>()(address, length, protection, flags, file, offset);
    if (wanted(guard) && !os::mapping_failed(result)) report_mapping(result, length, origin);
    if (address != nullptr && result == address) replace_pages(guard, address, length);
    return result;
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static int unmap(const CallOrigin& origin, void* address,
                                          std::size_t length) {
    const ReentrancyGuard guard;
    replace_pages(guard, address, length);
    if (!wanted(guard)) return Originals::template get<Function>()(address, length);
    DetachedMappings detached = begin_unmap(address, length, origin);
    const int error = Originals::template get<Function>()(address, length);
    end_unmap(detached, error != 0);
    return error;
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* remap(const CallOrigin& origin, void* old,
                                            std::size_t old_length, std::size_t length, int flags,
                                            void* address) {
    const ReentrancyGuard guard;
    replace_pages(guard, old, old_length);
    void* const result =
        wanted(guard)
            ? remap_and_report<Function>(origin, old, old_length, length, flags, address)
            : Originals::template get<Function>()(old, old_length, length, flags, address);
    // MREMAP_FIXED replaces what was mapped at `address`.
    if (address != nullptr && result == address) replace_pages(guard, address, length);
    return result;
  }

  ALLOCTAP_ALWAYS_INLINE static std::size_t measure(const CallOrigin& origin, void* block) {
    if (owned_by_bootstrap(block)) [[unlikely]] {
      return BootstrapArena::size_of(block);
    }
    if constexpr (CheckingSink<Sink>) {
      const ReentrancyGuard guard;
      return Checked::measure(guard.is_outermost(), origin, block);
    }
    return Originals::template get<functions::MallocUsableSize>()(block);
  }

 private:
  using Checked = CheckedCall<Originals, Sink>;

  static constexpr bool kHandsOutStandIns = requires { requires Originals::kHandsOutStandIns; };

  ALLOCTAP_ALWAYS_INLINE static bool owned_by_bootstrap(const void* block) noexcept {
    return kHandsOutStandIns && BootstrapArena::owns(block);
  }

  /// Copies a block of the bootstrap arena to a new block of the host's allocator.
  template <class Function, class... Arguments>
  ALLOCTAP_NOINLINE static void* move_out(const CallOrigin& origin, void* old,
                                          Arguments... arguments) {
    void* block = reallocate_or_refuse<Function>(origin, nullptr, arguments...);
    const std::size_t size = Function::request(old, arguments...).size;
    if (block != nullptr) {
      std::memcpy(block, old, std::min(size, BootstrapArena::size_of(old)));
    }
    return block;
  }

  /// Reallocates, unless a `RefusingSink` makes the call fail. A call that frees `old`, because its
  /// size is 0, is never refused.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate_or_refuse(const CallOrigin& origin, void* old,
                                                           Arguments... arguments) {
    if constexpr (RefusingSink<Sink>) {
      const std::size_t size = Function::request(old, arguments...).size;
      if (Sink::may_refuse() && (old == nullptr || size != 0)) [[unlikely]] {
        return FaultInjectedCall<Sink>::template call<Function>(
            origin, size,
            [=](const auto& from) { return call_reallocate<Function>(from, old, arguments...); });
      }
    }
    return call_reallocate<Function>(origin, old, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto call_allocate(const CallOrigin& origin,
                                                   Arguments... arguments) {
    if constexpr (kIsHot<Function>) {
      if (passes_through()) return Originals::template get<Function>()(arguments...);
    }
    const GuardOf<Function> guard;
    auto* const original = original_of<Function>();
    if constexpr (CheckingSink<Sink>) {
      if (guard.is_outermost() && !Sink::should_skip_checks()) {
        return Checked::template allocate<Function>(Originals::recording(), origin, arguments...);
      }
    }
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (wanted(guard)) {
        timer.begin(AllocatorCall::kAllocate, Function::request(arguments...).size);
      }
    }
    auto* const block = original(arguments...);
    timer.stop();
    if constexpr (CheckingSink<Sink>) Checked::Unchecked::note(block);
    if (block != nullptr && guard.is_outermost())
      report_allocated<Function>(block, origin, arguments...);
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int call_allocate_into(const CallOrigin& origin, void** result,
                                                       Arguments... arguments) {
    const ReentrancyGuard guard;
    auto* const original = Originals::template get<Function>();
    if constexpr (CheckingSink<Sink>) {
      if (guard.is_outermost() && !Sink::should_skip_checks()) {
        return Checked::template allocate_into<Function>(Originals::recording(), origin, result,
                                                         arguments...);
      }
    }
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (wanted(guard)) {
        timer.begin(AllocatorCall::kAllocate, Function::request(result, arguments...).size);
      }
    }
    const int error = original(result, arguments...);
    timer.stop();
    if constexpr (CheckingSink<Sink>) {
      if (error == 0) Checked::Unchecked::note(*result);
    }
    if (error == 0 && *result != nullptr && guard.is_outermost()) {
      report_allocated<Function>(*result, origin, result, arguments...);
    }
    return error;
  }

  /// Reallocates a block. If size 0 gives a null result, the old block was freed (glibc). For other
  /// sizes, a null result means that the old block is still live.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* call_reallocate(const CallOrigin& origin, void* old,
                                                      Arguments... arguments) {
    const ReentrancyGuard guard;
    if constexpr (CheckingSink<Sink>) {
      if (Sink::is_checked(old) || (guard.is_outermost() && !Sink::should_skip_checks())) {
        return reallocate_checked<Function>(guard.is_outermost(), origin, old, arguments...);
      }
    }
    if (!wanted(guard)) return Originals::template get<Function>()(old, arguments...);
    const BlockRequest request = Function::request(old, arguments...);
    const DetachedBlock detached = begin_reallocate(old, origin);
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) timer.begin(AllocatorCall::kReallocate, request.size);
    void* const block = Originals::template get<Function>()(old, arguments...);
    timer.stop();
    const os::ErrnoGuard preserve_error;
    if (block == nullptr && request.size != 0) {
      Sink::cancel_reallocate(detached);
      return block;
    }
    Sink::finish_reallocate(detached);
    if (block != nullptr)
      report_allocated_shared(block, request, Function::kind, origin, &detached);
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void call_deallocate(const CallOrigin& origin, void* block,
                                                     Arguments... arguments) {
    if constexpr (kIsHot<Function>) {
      if (passes_through()) return Originals::template get<Function>()(block, arguments...);
    }
    const GuardOf<Function> guard;
    if constexpr (CheckingSink<Sink>) {
      if (Sink::is_checked(block)) {
        return deallocate_checked<Function>(guard.is_outermost(), origin, block, arguments...);
      }
    }
    const bool is_recorded = block != nullptr && guard.is_outermost() &&
                             report_released<Function>(block, origin, arguments...);
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (is_recorded) timer.begin(AllocatorCall::kFree, 0);
    }
    original_of<Function>()(block, arguments...);
    timer.stop();
  }

  // Arguments are passed by value, here and in `Checked`, so that they stay in registers.
  template <class Function, class... Arguments>
  ALLOCTAP_NOINLINE static void* reallocate_checked(bool outermost, CallOrigin origin, void* old,
                                                    Arguments... arguments) {
    auto* const original = Originals::template get<Function>();
    if (outermost) {
      return Checked::template reallocate<Function>(Originals::recording(), origin, old,
                                                    arguments...);
    }
    void* block = nullptr;
    const std::size_t size = Function::request(old, arguments...).size;
    if (old != nullptr && Checked::Unchecked::reallocate(old, size, &block)) return block;
    block = original(old, arguments...);
    Checked::Unchecked::note(block);
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_NOINLINE static void deallocate_checked(bool outermost, CallOrigin origin, void* block,
                                                   Arguments... arguments) {
    auto* const original = Originals::template get<Function>();
    if (block == nullptr) return original(block, arguments...);
    if (outermost) {
      return Checked::template deallocate<Function>(Originals::recording(), origin, block,
                                                    arguments...);
    }
    if (!Checked::Unchecked::deallocate(block)) original(block, arguments...);
  }

  /// Returns true if the call is nested in another allocator call and can go straight to the
  /// allocator. Returns false with a `CheckingSink`, because checks must see every block.
  ALLOCTAP_ALWAYS_INLINE static bool passes_through() noexcept {
    return !CheckingSink<Sink> && ReentrancyGuard::inside();
  }

  /// True if every call of `Function` that does not pass through is outermost. This requires that
  /// the handler tests `passes_through`, as only handlers of hot functions do.
  template <class Function>
  static constexpr bool kIsOutermost = kIsHot<Function> && !CheckingSink<Sink>;

  template <class Function>
  using GuardOf = std::conditional_t<kIsOutermost<Function>, OutermostGuard, ReentrancyGuard>;

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static auto* original_of() {
    if constexpr (kIsOutermost<Function> &&
                  requires { Originals::template get_outermost<Function>(); }) {
      return Originals::template get_outermost<Function>();
    } else {
      return Originals::template get<Function>();
    }
  }

  ALLOCTAP_ALWAYS_INLINE static bool wanted(const auto& guard) noexcept {
    return guard.is_outermost() && Originals::recording();
  }

  ALLOCTAP_NOINLINE static DetachedBlock begin_reallocate(void* old,
                                                          const CallOrigin& origin) noexcept {
    if (old == nullptr) return {};
    const os::ErrnoGuard preserve_error;
    return Sink::begin_reallocate(
        DeallocationEvent{.pointer = old, .kind = DeallocationKind::kRealloc, .origin = origin});
  }

  /// Notifies checks that a call replaces pages, so that checks no longer access blocks in the
  /// pages. The handlers of munmap and mremap call this before the real call, although the real
  /// call may fail, because afterwards another thread may own the addresses.
  static void replace_pages([[maybe_unused]] const auto& guard, [[maybe_unused]] void* address,
                            [[maybe_unused]] std::size_t length) noexcept {
    if constexpr (CheckingSink<Sink>) {
      if (guard.is_outermost()) Sink::on_page_change(address, length, PageChange::kReplaced);
    }
  }

  template <class Function>
  static void* remap_and_report(const CallOrigin& origin, void* old, std::size_t old_length,
                                std::size_t length, int flags, void* address) {
    // Old length 0 maps shared pages a second time. MREMAP_DONTUNMAP keeps the old range.
    const bool leaves_old = os::remap_keeps_old(old_length, flags);
    DetachedMappings detached =
        leaves_old ? DetachedMappings{} : begin_unmap(old, old_length, origin);
    void* const result =
        Originals::template get<Function>()(old, old_length, length, flags, address);
    if (!leaves_old) end_unmap(detached, os::mapping_failed(result));
    if (!os::mapping_failed(result)) report_mapping(result, length, origin);
    return result;
  }

  ALLOCTAP_NOINLINE static void report_mapping(void* address, std::size_t length,
                                               const CallOrigin& origin) noexcept {
    const os::ErrnoGuard preserve_error;
    Sink::on_map(MappingEvent{.address = address, .length = length, .origin = origin});
  }

  ALLOCTAP_NOINLINE static DetachedMappings begin_unmap(void* address, std::size_t length,
                                                        const CallOrigin& origin) noexcept {
    const os::ErrnoGuard preserve_error;
    return Sink::begin_unmap(MappingEvent{.address = address, .length = length, .origin = origin});
  }

  ALLOCTAP_NOINLINE static void end_unmap(DetachedMappings& detached, bool failed) noexcept {
    const os::ErrnoGuard preserve_error;
    if (failed) {
      Sink::cancel_unmap(detached);
    } else {
      Sink::finish_unmap(detached);
    }
  }

  // The functions below preserve errno. Callers pass only non-null blocks of outermost calls.

  /// Reports a block that the call returned, if a tracker records.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void report_allocated(void* block, const CallOrigin& origin,
                                                      Arguments... arguments) noexcept {
    if constexpr (kIsHot<Function>) {
      if (try_skip(block, [&] { return Function::request(arguments...).size; })) return;
      if (!Originals::recording()) return;
      report_allocated_by(block, Function::request(arguments...), Function::kind, origin, nullptr);
    } else {
      report_allocated_shared(block, Function::request(arguments...), Function::kind, origin);
    }
  }

  /// Reports a block that the call is about to free. Returns true if a tracker records.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static bool report_released(void* block, const CallOrigin& origin,
                                                     Arguments... arguments) noexcept {
    const BlockRequest stated = Function::request(arguments...);
    if constexpr (kIsHot<Function>) {
      return report_released_by(block, stated, Function::kind, origin);
    } else {
      return report_released_shared(block, stated, Function::kind, origin);
    }
  }

  struct NothingToPreserve {};
  using Preserver = std::conditional_t<kLeavesErrnoAlone<Sink>, NothingToPreserve, os::ErrnoGuard>;

  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool try_skip(const void* block, const BytesOf& bytes_of) noexcept {
    if constexpr (SkippingSink<Sink>) return Sink::try_skip(block, bytes_of);
    return false;
  }

  /// Reports an allocation by any function that is not hot. `origin` refers to the entry point's
  /// live frame. `old` is the detached block of a reallocation, or nullptr.
  ALLOCTAP_NOINLINE static void report_allocated_shared(
      void* block, BlockRequest request, AllocationKind kind, const CallOrigin& origin,
      const DetachedBlock* old = nullptr) noexcept {
    if (try_skip(block, [&] { return request.size; })) return;
    if (old != nullptr || Originals::recording())
      report_allocated_by(block, request, kind, origin, old);
  }

  ALLOCTAP_NOINLINE static bool report_released_shared(void* block, BlockRequest stated,
                                                       DeallocationKind kind,
                                                       const CallOrigin& origin) noexcept {
    return report_released_by(block, stated, kind, origin);
  }

  ALLOCTAP_ALWAYS_INLINE static bool report_released_by(void* block, const BlockRequest& stated,
                                                        DeallocationKind kind,
                                                        const CallOrigin& origin) noexcept {
    if constexpr (SkippingSink<Sink>) {
      if (Sink::try_skip_free(block)) return true;
    }
    if (!Originals::recording()) return false;
    [[maybe_unused]] const Preserver preserve_error;
    if constexpr (SkippingSink<Sink>) {
      Sink::on_deallocate_sampled_in(block, origin);
    } else {
      Sink::on_deallocate(DeallocationEvent{.pointer = block,
                                            .stated_size = stated.size,
                                            .stated_alignment = stated.alignment,
                                            .kind = kind,
                                            .origin = origin});
    }
    return true;
  }

  ALLOCTAP_ALWAYS_INLINE static void report_allocated_by(void* block, const BlockRequest& request,
                                                         AllocationKind kind,
                                                         const CallOrigin& origin,
                                                         const DetachedBlock* old) noexcept {
    [[maybe_unused]] const Preserver preserve_error;
    const AllocationEvent event{.pointer = block,
                                .size = request.size,
                                .alignment = request.alignment,
                                .kind = kind,
                                .origin = origin,
                                .reallocated = old};
    if constexpr (SkippingSink<Sink>) {
      Sink::on_allocate_sampled_in(event);
    } else {
      Sink::on_allocate(event);
    }
  }
};

}  // namespace alloctap
