/// Handlers that inject faults into Windows heap calls. Run inside malloc.
#pragma once

#include "alloctap/hook/fault_injected_call.hpp"
#include "alloctap/hook/windows/heap_calls.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// `WindowsHeapCalls` with fault injection: asks a `RefusingSink` before each allocation. A refused
/// call returns null with ERROR_NOT_ENOUGH_MEMORY and is not reported. A refused call raises no
/// exception, even with HEAP_GENERATE_EXCEPTIONS.
template <class Originals, EventSink Sink>
struct WindowsRefusableCalls : WindowsHeapCalls<Originals, Sink> {
  using Base = WindowsHeapCalls<Originals, Sink>;

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* allocate(const CallOrigin& origin, HANDLE heap, ULONG flags,
                                               SIZE_T bytes) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return call_or_refuse(origin, bytes, [=](const CallOrigin& from) {
          return Base::template allocate<Function>(from, heap, flags, bytes);
        });
      }
    }
    return Base::template allocate<Function>(origin, heap, flags, bytes);
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, HANDLE heap, ULONG flags,
                                                 void* old, SIZE_T bytes) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return call_or_refuse(origin, bytes, [=](const CallOrigin& from) {
          return Base::template reallocate<Function>(from, heap, flags, old, bytes);
        });
      }
    }
    return Base::template reallocate<Function>(origin, heap, flags, old, bytes);
  }

 private:
  /// Runs `call` unless the sink refuses it. Out of line, to keep the common path short.
  template <class Call>
  ALLOCTAP_NOINLINE static void* call_or_refuse(CallOrigin origin, SIZE_T bytes, Call call) {
    const FaultInjectedCall<Sink> asked(origin, bytes);
    if (!asked.is_refused()) return call(origin);
    ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return nullptr;
  }
};

}  // namespace alloctap
