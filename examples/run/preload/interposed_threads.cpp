// The main thread may leave before the others, and the process then ends with the last of them. The
// report's thread would never let it.
#include <pthread.h>

#include <alloctap/macros.hpp>
#include <alloctap/os/thread.hpp>

#include "final_report.hpp"
#include "report_thread.hpp"
#include "signal_functions.hpp"

extern "C" ALLOCTAP_EXPORT void pthread_exit(void* result) {
  using namespace alloctap;
  using Signature = void(void*);
  static constinit Signature* real = nullptr;
  const bool main_thread = os::current_thread_id() == os::current_process_id();
  if (main_thread && run::report_owed()) run::end_with_last_thread();
  run::next_function(real, "pthread_exit")(result);
  __builtin_unreachable();
}
