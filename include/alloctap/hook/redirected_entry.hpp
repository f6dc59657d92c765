/// Entry points that patched GOT slots and functions lead to, and the bootstrap functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Bootstrap function: `call` has the signature of `Function` and allocates from the bootstrap
/// arena. Freeing has no effect. Runs inside malloc, when the host's allocator must not be entered.
template <class Function, CallRole Role = Function::role,
          class Signature = typename Function::Signature>
struct BootstrapCall;

/// Returns a block, or nullptr with errno set to ENOMEM.
inline void* bootstrap_block(const BlockRequest& request) noexcept {
  void* block = BootstrapArena::allocate(request.size, request.alignment);
  if (block == nullptr) errno = ENOMEM;
  return block;
}

template <class Function, class Result, class... Arguments>
struct BootstrapCall<Function, CallRole::kAllocate, Result*(Arguments...)> {
  static Result* call(Arguments... arguments) noexcept {
    return static_cast<Result*>(bootstrap_block(Function::request(arguments...)));
  }
};

/// strdup and strndup. The arena's blocks are zeroed, so the copied text is terminated.
template <class Function, class... Arguments>
struct BootstrapCall<Function, CallRole::kAllocate, char*(const char*, Arguments...)> {
  static char* call(const char* text, Arguments... arguments) noexcept {
    const BlockRequest request = Function::request(text, arguments...);
    void* block = bootstrap_block(request);
    if (block != nullptr) std::memcpy(block, text, request.size - 1);
    return static_cast<char*>(block);
  }
};

template <class Function>
struct BootstrapCall<Function, CallRole::kAllocateInto, int(void**, std::size_t, std::size_t)> {
  static int call(void** result, std::size_t alignment, std::size_t size) noexcept {
    void* block = BootstrapArena::allocate(size, alignment);
    if (block == nullptr) return ENOMEM;
    *result = block;
    return 0;
  }
};

/// Copies as many bytes as the smaller of the old and the new size. Returns nullptr if `old` is a
/// block of the host's allocator, because the block's size is unknown here.
template <class Function, class... Arguments>
struct BootstrapCall<Function, CallRole::kReallocate, void*(void*, Arguments...)> {
  static void* call(void* old, Arguments... arguments) noexcept {
    const BlockRequest request = Function::request(old, arguments...);
    const bool ours = old == nullptr || BootstrapArena::owns(old);
    void* block = ours ? bootstrap_block(request) : nullptr;
    if (block == nullptr) {
      errno = ENOMEM;
    } else if (old != nullptr) {
      std::memcpy(block, old, std::min(request.size, BootstrapArena::size_of(old)));
    }
    return block;
  }
};

/// Leaks a block of the host's allocator, because the host's free must not be entered.
template <class Function, class... Arguments>
struct BootstrapCall<Function, CallRole::kDeallocate, void(void*, Arguments...)> {
  static void call(void*, Arguments...) noexcept {}
};

template <class Function>
struct BootstrapCall<Function, CallRole::kMeasure, std::size_t(void*)> {
  static std::size_t call(void* block) noexcept {
    return block != nullptr && BootstrapArena::owns(block) ? BootstrapArena::size_of(block) : 0;
  }
};

template <class Function, class Signature>
struct BootstrapCall<Function, CallRole::kMap, Signature> {
  static constexpr auto& call = os::system_mmap;
};

template <class Function, class Signature>
struct BootstrapCall<Function, CallRole::kUnmap, Signature> {
  static constexpr auto& call = os::system_munmap;
};

template <class Function, class Signature>
struct BootstrapCall<Function, CallRole::kRemap, Signature> {
  static constexpr auto& call = os::system_mremap;
};

/// Originals of the redirected functions. Set before any call is redirected and never cleared,
/// because a thread may still be in a handler after uninstall. Thread-safe.
template <EventSink Sink>
class RedirectedOriginals : public OriginalFunctions<RedirectedOriginals<Sink>> {
 public:
  /// `get` may return a bootstrap function, so handlers must recognize bootstrap blocks.
  static constexpr bool kHandsOutStandIns = true;

  /// Returns the original, never null inside a handler. Returns a bootstrap function
  /// (`BootstrapCall`) while this thread allocates for the tracker.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() noexcept {
    if constexpr (requires { &BootstrapCall<Function>::call; }) {
      if (UseInternalArena::active()) [[unlikely]] {
        return &BootstrapCall<Function>::call;
      }
    }
    return Functions::template get<Function>();
  }

  static bool recording() noexcept { return recording_.load(std::memory_order_relaxed); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

 private:
  using Functions = OriginalFunctions<RedirectedOriginals>;

  static inline constinit std::atomic<bool> recording_{false};
};

/// Entry point: `call` has the signature of `Function`, reports to `Sink` and calls the original.
/// `call` returns to the program, because the program calls it in place of the original. One
/// specialization per role. Runs inside malloc.
template <class Function, EventSink Sink, CallRole Role = Function::role,
          class Signature = typename Function::Signature>
struct RedirectedEntry;

template <EventSink Sink>
using RedirectedCall = CallWrapper<RedirectedOriginals<Sink>, Sink>;

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kAllocate, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template allocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kAllocateInto, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template allocate_into<Function>(ALLOCTAP_CALL_ORIGIN(),
                                                                  arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kReallocate, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template reallocate<Function>(ALLOCTAP_CALL_ORIGIN(),
                                                               arguments...);
  }
};

template <class Function, EventSink Sink, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kDeallocate, void(Arguments...)> {
  ALLOCTAP_NOINLINE static void call(Arguments... arguments) {
    RedirectedCall<Sink>::template deallocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kMeasure, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::measure(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kMap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template map<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kUnmap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template unmap<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kRemap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template remap<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

}  // namespace alloctap
