/// How a sink is told of one call.
#pragma once

#include <cstddef>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/function_description.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"

namespace alloctap {

/// For `HookedCall`, of which the parameters are. Calls are outermost ones, and blocks are not
/// null; errno stays as it is.
template <class Originals, EventSink Sink>
struct CallReport {
  /// Of a block that the call has handed out, unless nobody wants to know.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void allocated(void* block, const CallOrigin& origin,
                                               Arguments... arguments) noexcept {
    if constexpr (kIsHot<Function>) {
      if (try_skip(block, [&] { return Function::request(arguments...).size; })) return;
      if (!Originals::recording()) return;
      report(block, Function::request(arguments...), Function::kind, origin, nullptr);
    } else {
      allocated_shared(block, Function::request(arguments...), Function::kind, origin);
    }
  }

  /// Of one that the call has made of another one, while somebody wants to know.
  static void reallocated(void* block, const BlockRequest& request, AllocationKind kind,
                          const CallOrigin& origin, const DetachedBlock& old) noexcept {
    allocated_shared(block, request, kind, origin, &old);
  }

  /// Of one that the call is about to give back; whether somebody wanted to know.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static bool released(void* block, const CallOrigin& origin,
                                              Arguments... arguments) noexcept {
    const BlockRequest stated = Function::request(arguments...);
    if constexpr (kIsHot<Function>) {
      return released_by(block, stated, Function::kind, origin);
    } else {
      return released_shared(block, stated, Function::kind, origin);
    }
  }

 private:
  struct NothingToPreserve {};
  using Preserver = std::conditional_t<kLeavesErrnoAlone<Sink>, NothingToPreserve, os::ErrnoGuard>;

  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool try_skip(const void* block, const BytesOf& bytes_of) noexcept {
    if constexpr (SkippingSink<Sink>) return Sink::try_skip(block, bytes_of);
    return false;
  }

  /// For all functions that are not hot. The entry point's frame, which `origin` is of, stays as
  /// long as its `ReentrancyGuard`. `old`: the block before a reallocation whose start was
  /// recorded; else nullptr.
  ALLOCTAP_NOINLINE static void allocated_shared(void* block, BlockRequest request,
                                                 AllocationKind kind, const CallOrigin& origin,
                                                 const DetachedBlock* old = nullptr) noexcept {
    if (try_skip(block, [&] { return request.size; })) return;
    if (old != nullptr || Originals::recording()) report(block, request, kind, origin, old);
  }

  ALLOCTAP_NOINLINE static bool released_shared(void* block, BlockRequest stated,
                                                DeallocationKind kind,
                                                const CallOrigin& origin) noexcept {
    return released_by(block, stated, kind, origin);
  }

  ALLOCTAP_ALWAYS_INLINE static bool released_by(void* block, const BlockRequest& stated,
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

  ALLOCTAP_ALWAYS_INLINE static void report(void* block, const BlockRequest& request,
                                            AllocationKind kind, const CallOrigin& origin,
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
