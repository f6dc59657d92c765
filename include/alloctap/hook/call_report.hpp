/// How a sink is told of one call.
#pragma once

#include <cstddef>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/function_description.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/error_preserver.hpp"

namespace alloctap {

/// For `HookedCall`, of which the parameters are. Calls are outermost ones, and blocks are not
/// null; errno stays as it is.
template <class Originals, EventSink Sink>
struct CallReport {
  /// Of a block that the call has handed out, unless nobody wants to know.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void allocated(void* block, const CallOrigin& origin,
                                               Arguments... arguments) noexcept {
    if (skips(block, [&] { return Function::request(arguments...).size; })) return;
    if (Originals::recording()) report<Function>(block, Function::request(arguments...), origin);
  }

  /// Of one that the call has made of another one, while somebody wants to know.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void reallocated(void* block, const BlockRequest& request,
                                                 const CallOrigin& origin,
                                                 const DetachedBlock& old) noexcept {
    if (skips(block, [&] { return request.size; })) return;
    report<Function>(block, request, origin, &old);
  }

  /// Of one that the call is about to give back; whether somebody wanted to know.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static bool released(void* block, const CallOrigin& origin,
                                              Arguments... arguments) noexcept {
    if constexpr (SkippingSink<Sink>) {
      if (Sink::skips_free(block)) return true;
    }
    if (!Originals::recording()) return false;
    [[maybe_unused]] const Preserver preserve_error;
    if constexpr (SkippingSink<Sink>) {
      Sink::on_deallocate_unskipped(block, origin);
    } else {
      const BlockRequest stated = Function::request(arguments...);
      Sink::on_deallocate(DeallocationEvent{.pointer = block,
                                            .stated_size = stated.size,
                                            .stated_alignment = stated.alignment,
                                            .kind = Function::kind,
                                            .origin = origin});
    }
    return true;
  }

 private:
  struct NothingToPreserve {};
  using Preserver =
      std::conditional_t<kLeavesErrnoAlone<Sink>, NothingToPreserve, os::ErrorPreserver>;

  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool skips(const void* block, const BytesOf& bytes_of) noexcept {
    if constexpr (SkippingSink<Sink>) return Sink::skips(block, bytes_of);
    return false;
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void report(void* block, const BlockRequest& request,
                                            const CallOrigin& origin,
                                            const DetachedBlock* old = nullptr) noexcept {
    [[maybe_unused]] const Preserver preserve_error;
    const AllocationEvent event{.pointer = block,
                                .size = request.size,
                                .alignment = request.alignment,
                                .kind = Function::kind,
                                .origin = origin,
                                .reallocated = old};
    if constexpr (SkippingSink<Sink>) {
      Sink::on_allocate_unskipped(event);
    } else {
      Sink::on_allocate(event);
    }
  }
};

}  // namespace alloctap
