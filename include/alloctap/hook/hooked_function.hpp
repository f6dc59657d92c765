/// Description of a hooked function, and the original, timer and fault injection of its calls.
///
/// A description is a type with these members:
/// - `name`: linker symbol
/// - `Signature`: function type
/// - `role`: which handler of `CallWrapper` fits
/// - `kind`: family (malloc, new, new[], ...), for roles that allocate or free
/// - `request`: reads size and alignment in bytes from the arguments
/// - `with_bytes`: optional; the arguments for another size, for functions that allocate
/// - `has_content`: true if the caller may rely on the block's initial bytes
/// - `throws`: true if the function throws std::bad_alloc when out of memory
/// - `is_hot`: true if calls are so frequent that the handler is inlined; other handlers share code
/// - `ignores_null`: true if freeing null has no effect; the hook then skips the real call
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/throw_bad_alloc.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Kind of function: selects the handler.
enum class CallRole : std::uint8_t {
  kAllocate,      // returns a block, or nullptr
  kAllocateInto,  // stores a block through its first argument, returns an error number
  kReallocate,
  kDeallocate,
  kMeasure,
  kMap,
  kUnmap,
  kRemap,
};

/// Size and alignment in bytes that an allocation requests, or that a sized free states. A member
/// is 0 if the call does not give it.
struct BlockRequest {
  std::size_t size = 0;
  std::size_t alignment = 0;
};

template <class Signature>
struct ResultOf;
template <class Result, class... Arguments>
struct ResultOf<Result(Arguments...)> {
  using Type = Result;
};

namespace functions {

template <AllocationKind Kind>
struct Allocates {
  static constexpr CallRole role = CallRole::kAllocate;
  static constexpr AllocationKind kind = Kind;
};

template <DeallocationKind Kind>
struct Deallocates {
  static constexpr CallRole role = CallRole::kDeallocate;
  static constexpr DeallocationKind kind = Kind;
};

/// Base of functions that ignore a null pointer, as the C or C++ standard requires.
template <DeallocationKind Kind>
struct DeallocatesBlock : Deallocates<Kind> {
  static constexpr bool ignores_null = true;
};

}  // namespace functions

template <class Function>
inline constexpr bool kIgnoresNull = requires { requires Function::ignores_null; };

template <class Function>
inline constexpr bool kIsHot = requires { requires Function::is_hot; };

template <class... Functions>
struct FunctionList {
  template <class Visit>
  static constexpr void for_each(Visit&& visit) {
    (visit(Functions{}), ...);
  }
  static constexpr std::size_t size = sizeof...(Functions);
  template <class... Others>
  using With = FunctionList<Functions..., Others...>;
};

template <class First, class Second>
struct JoinFunctions;
template <class First, class... Functions>
struct JoinFunctions<First, FunctionList<Functions...>> {
  using Type = typename First::template With<Functions...>;
};

template <class First, class Second>
using JoinedFunctions = typename JoinFunctions<First, Second>::Type;

/// Original functions: one address per function description and `Owner`. An address is set before
/// any call is redirected. It is never cleared, because a thread may still be in a handler after
/// uninstall. Thread-safe; readable inside malloc.
template <class Owner>
class OriginalFunctions {
 public:
  /// Returns nullptr before `set`.
  template <class Function>
  static typename Function::Signature* get() noexcept {
    return original_<Function>.load(std::memory_order_acquire);
  }

  template <class Function>
  static void set(std::uintptr_t original) noexcept {
    original_<Function>.store(reinterpret_cast<typename Function::Signature*>(original),
                              std::memory_order_release);
  }

 private:
  template <class Function>
  static inline constinit std::atomic<typename Function::Signature*> original_{nullptr};
};

/// Timer of one real allocator call for a `TimingSink`, from `begin` to `stop`. `stop` has no
/// effect unless `begin` was called. The class is empty for sinks without timing.
template <class Sink, bool = TimingSink<Sink>>
class CallTimer {
 public:
  void stop() const noexcept {}
};

template <class Sink>
class CallTimer<Sink, true> {
 public:
  /// `bytes` is the size that the program requested.
  ALLOCTAP_ALWAYS_INLINE void begin(AllocatorCall call, std::size_t bytes) noexcept {
    timed_ = Sink::begin_timing(call, bytes);
  }
  ALLOCTAP_ALWAYS_INLINE void stop() const noexcept {
    if (timed_ != nullptr) [[unlikely]] {
      Sink::end_timing(*timed_);
    }
  }

 private:
  const TimedCall* timed_ = nullptr;
};

/// Fault injection for one call: asks `Sink` whether the call must fail, and notifies `Sink` when
/// the call ends. Construct it before the call's `ReentrancyGuard`. Otherwise the allocation of a
/// std::bad_alloc thrown here would count as nested. Runs inside malloc.
template <RefusingSink Sink>
class FaultInjectedCall {
 public:
  FaultInjectedCall(const CallOrigin& origin, std::size_t size) noexcept
      : refused_(should_refuse(origin, size)) {}
  ~FaultInjectedCall() { Sink::end_asked(); }
  FaultInjectedCall(const FaultInjectedCall&) = delete;
  FaultInjectedCall& operator=(const FaultInjectedCall&) = delete;

  [[nodiscard]] bool is_refused() const noexcept { return refused_; }

  /// Returns the out-of-memory result of `Function`: ENOMEM, or null with errno set. Throws
  /// std::bad_alloc if `Function` does.
  template <class Function>
  ALLOCTAP_NOINLINE static auto refuse() {
    using Result = typename ResultOf<typename Function::Signature>::Type;
    if constexpr (std::is_same_v<Result, int>) {
      return ENOMEM;
    } else {
      if constexpr (requires { requires Function::throws; }) os::throw_bad_alloc();
      errno = ENOMEM;
      return Result{};
    }
  }

  /// Calls `real_call(origin)` unless the call must fail. `origin` is passed by value, so that the
  /// caller's copy stays in registers.
  template <class Function, class Call>
  ALLOCTAP_NOINLINE static auto call(CallOrigin origin, std::size_t size, Call real_call) {
    const FaultInjectedCall asked(origin, size);
    if (asked.is_refused()) return refuse<Function>();
    return real_call(origin);
  }

 private:
  static bool should_refuse(const CallOrigin& origin, std::size_t size) noexcept {
    const ReentrancyGuard guard;
    return Sink::refuses({.size = size, .is_own = !guard.is_outermost(), .origin = origin});
  }

  bool refused_;
};

}  // namespace alloctap
