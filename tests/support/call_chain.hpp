/// Calls whose return addresses are known, for tests of stack captures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap::testing {

/// A stack as it was, and as a policy saw it.
struct SeenStack {
  /// The return addresses of the chain, leaf first.
  std::vector<std::uintptr_t> expected;
  /// What the policy wrote; the rest of the room is untouched.
  std::vector<std::uintptr_t> frames;
  CapturedStack result{};
};

/// Three functions that call each other in turn, so that no two neighbours look alike. `Build` is a
/// type of one source file's own where that is compiled unlike others: the linker keeps one of
/// each.
template <class Build = void>
class CallChain {
 public:
  using Leaf = std::function<void(const CallOrigin&)>;

  /// Calls `leaf` from `depth` functions inside; returns their return addresses and the leaf's,
  /// leaf first.
  static std::vector<std::uintptr_t> call(std::size_t depth, const Leaf& leaf) {
    CallChain chain{leaf};
    chain.first(depth);
    return {chain.returns_.rbegin(), chain.returns_.rend()};
  }

 private:
  explicit CallChain(const Leaf& leaf) : leaf_(leaf) {}

  ALLOCTAP_NOINLINE void first(std::size_t depth) {
    enter(ALLOCTAP_RETURN_ADDRESS());
    depth == 1 ? hooked() : second(depth - 1);
    stay();
  }
  ALLOCTAP_NOINLINE void second(std::size_t depth) {
    enter(ALLOCTAP_RETURN_ADDRESS());
    depth == 1 ? hooked() : third(depth - 1);
    stay();
  }
  ALLOCTAP_NOINLINE void third(std::size_t depth) {
    enter(ALLOCTAP_RETURN_ADDRESS());
    depth == 1 ? hooked() : first(depth - 1);
    stay();
  }
  /// Stands for malloc.
  ALLOCTAP_NOINLINE void hooked() {
    enter(ALLOCTAP_RETURN_ADDRESS());
    leaf_(ALLOCTAP_CALL_ORIGIN());
    stay();
  }

  void enter(const void* return_address) {
    returns_.push_back(reinterpret_cast<std::uintptr_t>(return_address));
  }

  /// Keeps the call before it from becoming a jump.
  ALLOCTAP_ALWAYS_INLINE static void stay() { __asm__ volatile("" ::: "memory"); }

  const Leaf& leaf_;
  std::vector<std::uintptr_t> returns_;
};

inline constexpr std::uintptr_t kUntouched = 0x5A5A5A5A5A5A5A5A;

/// What `Stack` sees `depth` functions deep when it has `room` for frames.
template <class Stack, class Build = void>
[[nodiscard]] SeenStack capture_known_stack(std::size_t depth, std::size_t room) {
  SeenStack seen;
  seen.frames.assign(room + 1, kUntouched);
  seen.expected = CallChain<Build>::call(depth, [&](const CallOrigin& origin) {
    seen.result = Stack::capture(*ThreadStates::mine(), origin, {seen.frames.data(), room});
  });
  return seen;
}

}  // namespace alloctap::testing
