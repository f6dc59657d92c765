// Every thread of the program gets a stack for its signals.
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>

#include <alloctap/macros.hpp>

#include "confinement.hpp"
#include "final_report.hpp"
#include "signal_functions.hpp"
#include "signal_stacks.hpp"

namespace {

using namespace alloctap::run;

template <class Result>
using Routine = Result (*)(void*);

/// Runs first on a new thread. The call in its last line is a jump (this file is optimized in every
/// build), so the program's routine is the thread's outermost function, as without us: in stacks,
/// and for what unwinds them.
template <class Result>
Result start_thread(void* reserved) {
  const ThreadStart start = enter_thread(*static_cast<SignalStack*>(reserved));
  return reinterpret_cast<Routine<Result>>(start.routine)(start.argument);
}

/// `create` makes the thread and returns 0, or an error.
template <class Result, class Create>
ALLOCTAP_ALWAYS_INLINE int create_with_signal_stack(Routine<Result> routine, void* argument,
                                                    Create create) noexcept {
  static_assert(thrd_success == 0);
  SignalStack* stack = nullptr;
  if (report_owed() && may_call(SYS_sigaltstack) && may_call(SYS_gettid)) {
    stack = reserve_signal_stack({reinterpret_cast<void (*)()>(routine), argument});
  }
  if (stack == nullptr) return create(routine, argument);
  const int error = create(&start_thread<Result>, stack);
  if (error != 0) give_back_signal_stack(*stack);
  return error;
}

}  // namespace

extern "C" {

ALLOCTAP_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*routine)(void*), void* argument) noexcept {
  using Signature = int(pthread_t*, const pthread_attr_t*, Routine<void*>, void*);
  static constinit Signature* known = nullptr;
  Signature* const real = next_function(known, "pthread_create");
  return create_with_signal_stack(routine, argument, [=](Routine<void*> first, void* its_own) {
    return real(thread, attributes, first, its_own);
  });
}

ALLOCTAP_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  using Signature = int(thrd_t*, thrd_start_t, void*);
  static constinit Signature* known = nullptr;
  Signature* const real = next_function(known, "thrd_create");
  return create_with_signal_stack(routine, argument, [=](thrd_start_t first, void* its_own) {
    return real(thread, first, its_own);
  });
}
}
