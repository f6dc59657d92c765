// A list that only grows, and an owner on every stack that is changed in one step: at any moment
// what a fork copies is whole, and no lock has to be carried across.
#include "signal_stacks.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <alloctap/macros.hpp>
#include <alloctap/os/thread.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/arena.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace alloctap::run {
namespace {

/// The owner of a stack, where it is no thread's id.
constexpr os::ThreadId kNoThread = 0;
constexpr os::ThreadId kThreadToCome = -1;

/// The count tells an owner from a later one to whom the system gave the same id.
struct alignas(8) Ownership {
  os::ThreadId owner;
  std::uint32_t changes;
};

}  // namespace

struct SignalStack {
  /// More than the arena cuts from its chunks: blocks as large as this leave gaps there.
  static constexpr std::size_t kBytes = Arena::kLargestBlock + 4096;

  SignalStack* next;
  void* memory;
  std::atomic<Ownership> ownership;
  ThreadStart start;

  [[nodiscard]] Ownership owned() const noexcept {
    return ownership.load(std::memory_order_acquire);
  }

  bool pass_on(Ownership from, os::ThreadId to) noexcept {
    return ownership.compare_exchange_strong(from, {to, from.changes + 1},
                                             std::memory_order_acq_rel);
  }
};

namespace {

constexpr std::size_t kFirstSweep = 16;

constinit std::atomic<SignalStack*> newest{nullptr};
constinit std::atomic<std::size_t> stack_count{0};
constinit std::atomic<std::size_t> next_sweep{kFirstSweep};

ALLOCTAP_INITIAL_EXEC constinit thread_local SignalStack* mine = nullptr;

template <class Visit>
void for_each_stack(Visit visit) noexcept {
  SignalStack* stack = newest.load(std::memory_order_acquire);
  for (; stack != nullptr; stack = stack->next) visit(*stack);
}

SignalStack* take_free(os::ThreadId owner) noexcept {
  SignalStack* stack = newest.load(std::memory_order_acquire);
  for (; stack != nullptr; stack = stack->next) {
    const Ownership now = stack->owned();
    if (now.owner == kNoThread && stack->pass_on(now, owner)) return stack;
  }
  return nullptr;
}

/// Frees the stacks of threads that have ended. The next sweep comes when there are twice as many
/// as are left in use, so that threads that come and go cost a constant number of system calls
/// each.
void sweep() noexcept {
  std::size_t used = 0;
  for_each_stack([&used](SignalStack& stack) {
    const Ownership now = stack.owned();
    if (now.owner == kNoThread) return;
    if (now.owner == kThreadToCome || os::thread_is_alive(now.owner)) {
      ++used;
    } else {
      stack.pass_on(now, kNoThread);
    }
  });
  next_sweep.store(std::max(kFirstSweep, 2 * used), std::memory_order_relaxed);
}

void list(SignalStack& stack) noexcept {
  stack.next = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(stack.next, &stack, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  stack_count.fetch_add(1, std::memory_order_relaxed);
}

/// What is known of a stack lies apart from it, so that one that is never used costs no page.
SignalStack* make(os::ThreadId owner) noexcept {
  void* memory = Arena::allocate(SignalStack::kBytes);
  if (memory == nullptr) return nullptr;
  void* place = Arena::allocate(sizeof(SignalStack));
  if (place == nullptr) {
    Arena::deallocate(memory, SignalStack::kBytes);
    return nullptr;
  }
  auto* stack = ::new (place)
      SignalStack{.next = nullptr, .memory = memory, .ownership = Ownership{owner, 0}, .start = {}};
  list(*stack);
  return stack;
}

SignalStack* take(os::ThreadId owner) noexcept {
  SignalStack* stack = take_free(owner);
  if (stack == nullptr &&
      stack_count.load(std::memory_order_relaxed) >= next_sweep.load(std::memory_order_relaxed)) {
    sweep();
    stack = take_free(owner);
  }
  return stack != nullptr ? stack : make(owner);
}

}  // namespace

SignalStack* reserve_signal_stack(const ThreadStart& start) noexcept {
  const os::ErrnoGuard preserve_error;
  SignalStack* stack = take(kThreadToCome);
  if (stack != nullptr) stack->start = start;
  return stack;
}

void give_back_signal_stack(SignalStack& stack) noexcept {
  stack.pass_on(stack.owned(), kNoThread);
}

ThreadStart enter_thread(SignalStack& stack) noexcept {
  const os::ErrnoGuard preserve_error;
  // First: as soon as the stack is this thread's, nobody else says what its argument keeps alive.
  const ThreadStart start = stack.start;
  stack.pass_on(stack.owned(), os::current_thread_id());
  mine = &stack;
  restore_signal_stack();
  return start;
}

void for_each_argument_to_come(void (*visit)(void* context, const void* argument),
                               void* context) noexcept {
  for_each_stack([&](const SignalStack& stack) {
    if (stack.owned().owner == kThreadToCome) visit(context, stack.start.argument);
  });
}

void provide_signal_stack() noexcept {
  const os::ErrnoGuard preserve_error;
  stack_t present{};
  const long error = ::syscall(SYS_sigaltstack, nullptr, &present);
  if (mine != nullptr || error != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  mine = take(os::current_thread_id());
  restore_signal_stack();
}

void keep_only_my_signal_stack() noexcept {
  for_each_stack([](SignalStack& stack) {
    stack.pass_on(stack.owned(), &stack == mine ? os::current_thread_id() : kNoThread);
  });
  next_sweep.store(kFirstSweep, std::memory_order_relaxed);
}

void restore_signal_stack() noexcept {
  const os::ErrnoGuard preserve_error;
  if (mine == nullptr) return;
  const stack_t stack{.ss_sp = mine->memory, .ss_flags = 0, .ss_size = SignalStack::kBytes};
  ::syscall(SYS_sigaltstack, &stack, nullptr);
}

void show_as_program_sees(stack_t& stack) noexcept {
  if (mine == nullptr || stack.ss_sp != mine->memory) return;
  stack = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
}

}  // namespace alloctap::run
