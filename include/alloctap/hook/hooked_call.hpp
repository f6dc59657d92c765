/// What happens between a program's call and the allocator: one handler per shape of function,
/// shared by all backends.
///
/// Order, everywhere: allocations are recorded after the real call; frees and the old block of a
/// reallocation before it, because afterwards another thread may own the address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/call_report.hpp"
#include "alloctap/hook/call_timer.hpp"
#include "alloctap/hook/checked_call.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/os/mapping_result.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers of one backend that feed one sink. `Originals` says where the real functions are:
/// `Originals::template get<Function>()` returns a callable of the description's signature, never
/// null; `Originals::recording()` whether events are wanted now.
///
/// Every handler is folded into the entry point that calls it, which passes its own `CallOrigin`.
template <class Originals, EventSink Sink>
struct HookedCall {
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto allocate(const CallOrigin& origin, Arguments... arguments) {
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
      Report::template allocated<Function>(block, origin, arguments...);
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int allocate_into(const CallOrigin& origin, void** result,
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
      Report::template allocated<Function>(*result, origin, result, arguments...);
    }
    return error;
  }

  /// A null result with a size of 0 means that the block was freed (glibc), else that it lives on.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, void* old,
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
    if (block != nullptr) Report::reallocated(block, request, Function::kind, origin, detached);
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void deallocate(const CallOrigin& origin, void* block,
                                                Arguments... arguments) {
    // Some programs free nothing more often than something.
    if (kIgnoresNull<Function> && block == nullptr) return;
    if constexpr (kIsHot<Function>) {
      if (passes_through()) return Originals::template get<Function>()(block, arguments...);
    }
    const GuardOf<Function> guard;
    if constexpr (CheckingSink<Sink>) {
      if (Sink::is_checked(block)) {
        return deallocate_checked<Function>(guard.is_outermost(), origin, block, arguments...);
      }
    }
    const bool is_told = block != nullptr && guard.is_outermost() &&
                         Report::template released<Function>(block, origin, arguments...);
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (is_told) timer.begin(AllocatorCall::kFree, 0);
    }
    original_of<Function>()(block, arguments...);
    timer.stop();
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
    auto* const original = Originals::template get<Function>();
    replace_pages(guard, old, old_length);
    if (!wanted(guard)) return original(old, old_length, length, flags, address);
    // A length of 0 makes a second view of a shared mapping, and the old one may be asked to stay.
    const bool leaves_old = os::remap_keeps_old(old_length, flags);
    DetachedMappings detached =
        leaves_old ? DetachedMappings{} : begin_unmap(old, old_length, origin);
    void* const result = original(old, old_length, length, flags, address);
    if (!leaves_old) end_unmap(detached, os::mapping_failed(result));
    if (!os::mapping_failed(result)) report_mapping(result, length, origin);
    return result;
  }

  ALLOCTAP_ALWAYS_INLINE static std::size_t measure(const CallOrigin& origin, void* block) {
    if constexpr (CheckingSink<Sink>) {
      const ReentrancyGuard guard;
      return Checked::measure(guard.is_outermost(), origin, block);
    }
    return Originals::template get<functions::MallocUsableSize>()(block);
  }

 private:
  using Checked = CheckedCall<Originals, Sink>;
  using Report = CallReport<Originals, Sink>;

  // By value, here and in `Checked`: what nobody has the address of stays in registers.
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

  /// Whether a call has nothing to do here: what the allocator calls on the way of another call
  /// need not be counted, but for checks, which want to know all blocks.
  ALLOCTAP_ALWAYS_INLINE static bool passes_through() noexcept {
    return !CheckingSink<Sink> && ReentrancyGuard::inside();
  }

  /// Whether a call of `Function` is known to be the outermost: `passes_through` said no. Calls
  /// that are not hot have no way of their own past the guard.
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

  /// Blocks in that range are not read or written any more. Also where the call fails: it seldom
  /// does, and afterwards another thread may have the addresses.
  static void replace_pages([[maybe_unused]] const auto& guard, [[maybe_unused]] void* address,
                            [[maybe_unused]] std::size_t length) noexcept {
    if constexpr (CheckingSink<Sink>) {
      if (guard.is_outermost()) Sink::on_page_change(address, length, PageChange::kReplaced);
    }
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
};

}  // namespace alloctap
