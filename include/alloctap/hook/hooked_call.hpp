/// What happens between a program's call and the allocator: one handler per shape of function,
/// shared by all backends.
///
/// Order, everywhere: allocations are recorded after the real call; frees and the old block of a
/// reallocation before it, because afterwards another thread may own the address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/call_timer.hpp"
#include "alloctap/hook/checked_call.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/error_preserver.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/os/mapping_result.hpp"

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
    const ReentrancyGuard guard;
    auto* const original = Originals::template get<Function>();
    if constexpr (CheckingSink<Sink>) {
      if (guard.outermost() && !Sink::leaves_alone()) {
        return Checked::template allocate<Function>(Originals::recording(), origin, arguments...);
      }
    }
    const CallTimer<Sink> timer([&] { return wanted(guard); }, AllocatorCall::kAllocate,
                                [&] { return Function::request(arguments...).size; });
    auto* const block = original(arguments...);
    timer.stop();
    if constexpr (CheckingSink<Sink>) Checked::Unchecked::note(block);
    if (wanted(guard) && block != nullptr) {
      report<Function>(block, Function::request(arguments...), origin);
    }
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int allocate_into(const CallOrigin& origin, void** result,
                                                  Arguments... arguments) {
    const ReentrancyGuard guard;
    auto* const original = Originals::template get<Function>();
    if constexpr (CheckingSink<Sink>) {
      if (guard.outermost() && !Sink::leaves_alone()) {
        return Checked::template allocate_into<Function>(Originals::recording(), origin, result,
                                                         arguments...);
      }
    }
    const CallTimer<Sink> timer([&] { return wanted(guard); }, AllocatorCall::kAllocate,
                                [&] { return Function::request(result, arguments...).size; });
    const int error = original(result, arguments...);
    timer.stop();
    if constexpr (CheckingSink<Sink>) {
      if (error == 0) Checked::Unchecked::note(*result);
    }
    if (wanted(guard) && error == 0 && *result != nullptr) {
      report<Function>(*result, Function::request(result, arguments...), origin);
    }
    return error;
  }

  /// A null result with a size of 0 means that the block was freed (glibc), else that it lives on.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, void* old,
                                                 Arguments... arguments) {
    const ReentrancyGuard guard;
    if constexpr (CheckingSink<Sink>) {
      if (Sink::looks_after(old) || (guard.outermost() && !Sink::leaves_alone())) {
        return reallocate_checked<Function>(guard.outermost(), origin, old, arguments...);
      }
    }
    if (!wanted(guard)) return Originals::template get<Function>()(old, arguments...);
    const BlockRequest request = Function::request(old, arguments...);
    const DetachedBlock detached = begin_reallocate(old, origin);
    const CallTimer<Sink> timer([] { return true; }, AllocatorCall::kReallocate,
                                [&] { return request.size; });
    void* const block = Originals::template get<Function>()(old, arguments...);
    timer.stop();
    const os::ErrorPreserver preserve_error;
    if (block == nullptr && request.size != 0) {
      Sink::cancel_reallocate(detached);
      return block;
    }
    Sink::finish_reallocate(detached);
    if (block != nullptr) report<Function>(block, request, origin, &detached);
    return block;
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void deallocate(const CallOrigin& origin, void* block,
                                                Arguments... arguments) {
    const ReentrancyGuard guard;
    if constexpr (CheckingSink<Sink>) {
      if (Sink::looks_after(block)) {
        return deallocate_checked<Function>(guard.outermost(), origin, block, arguments...);
      }
    }
    const bool is_told = wanted(guard) && block != nullptr;
    if (is_told) {
      [[maybe_unused]] const PreserverForSink preserve_error;
      const BlockRequest stated = Function::request(arguments...);
      Sink::on_deallocate(DeallocationEvent{.pointer = block,
                                            .stated_size = stated.size,
                                            .stated_alignment = stated.alignment,
                                            .kind = Function::kind,
                                            .origin = origin});
    }
    const CallTimer<Sink> timer([&] { return is_told; }, AllocatorCall::kFree,
                                [] { return std::size_t{0}; });
    Originals::template get<Function>()(block, arguments...);
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
    return result;
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static int unmap(const CallOrigin& origin, void* address,
                                          std::size_t length) {
    const ReentrancyGuard guard;
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
      return Checked::measure(guard.outermost(), origin, block);
    }
    return Originals::template get<functions::MallocUsableSize>()(block);
  }

 private:
  using Checked = CheckedCall<Originals, Sink>;

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

  struct NothingToPreserve {};
  using PreserverForSink =
      std::conditional_t<kLeavesErrnoAlone<Sink>, NothingToPreserve, os::ErrorPreserver>;

  static bool wanted(const ReentrancyGuard& guard) noexcept {
    return guard.outermost() && Originals::recording();
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void report(void* block, const BlockRequest& request,
                                            const CallOrigin& origin,
                                            const DetachedBlock* reallocated = nullptr) noexcept {
    [[maybe_unused]] const PreserverForSink preserve_error;
    Sink::on_allocate(AllocationEvent{.pointer = block,
                                      .size = request.size,
                                      .alignment = request.alignment,
                                      .kind = Function::kind,
                                      .origin = origin,
                                      .reallocated = reallocated});
  }

  static DetachedBlock begin_reallocate(void* old, const CallOrigin& origin) noexcept {
    if (old == nullptr) return {};
    const os::ErrorPreserver preserve_error;
    return Sink::begin_reallocate(
        DeallocationEvent{.pointer = old, .kind = DeallocationKind::kRealloc, .origin = origin});
  }

  static void report_mapping(void* address, std::size_t length, const CallOrigin& origin) noexcept {
    const os::ErrorPreserver preserve_error;
    Sink::on_map(MappingEvent{.address = address, .length = length, .origin = origin});
  }

  static DetachedMappings begin_unmap(void* address, std::size_t length,
                                      const CallOrigin& origin) noexcept {
    const os::ErrorPreserver preserve_error;
    return Sink::begin_unmap(MappingEvent{.address = address, .length = length, .origin = origin});
  }

  static void end_unmap(DetachedMappings& detached, bool failed) noexcept {
    const os::ErrorPreserver preserve_error;
    if (failed) {
      Sink::cancel_unmap(detached);
    } else {
      Sink::finish_unmap(detached);
    }
  }
};

}  // namespace alloctap
