/// The stacks that the handler of a fatal signal runs on: a thread whose own stack has overflowed
/// leaves no room there.
///
/// Every function may run on any thread and inside a signal handler, takes no lock but the arena's,
/// allocates nothing from the program and leaves errno alone.
#pragma once

#include <signal.h>

namespace alloctap::run {

/// What a thread is to run; `routine` is of the type that the function that makes it asks for.
struct ThreadStart {
  void (*routine)() = nullptr;
  void* argument = nullptr;
};

struct SignalStack;

/// A stack for a thread that is about to be made, and what that will run; nullptr where the system
/// has no memory. It is the thread's until the kernel knows the thread no more, so nothing has to
/// run when a thread ends, and it can be used up to the last instruction.
[[nodiscard]] SignalStack* reserve_signal_stack(const ThreadStart& start) noexcept;

/// The thread was not made. It never ran, or ran nothing of the program.
void give_back_signal_stack(SignalStack& stack) noexcept;

/// On the new thread, first of all: its signals are handled on `stack` from now on. Returns what it
/// was made for.
[[nodiscard]] ThreadStart enter_thread(SignalStack& stack) noexcept;

/// Calls `visit` for the argument of each thread that is about to begin: nothing else of the
/// program may point at what that points at.
void for_each_argument_to_come(void (*visit)(void* context, const void* argument),
                               void* context) noexcept;

/// For a thread that was not made with one: unless it has a stack of ours or of the program's.
void provide_signal_stack() noexcept;

/// In the child of a fork: the other threads' stacks are free, and the calling one's stays its own
/// under its new id.
void keep_only_my_signal_stack() noexcept;

/// After the program took its stack away from the calling thread: ours is back.
void restore_signal_stack() noexcept;

/// Replaces a stack of ours, read back for the calling thread, by the answer that there is none.
void show_as_program_sees(stack_t& stack) noexcept;

}  // namespace alloctap::run
