// The object that alloctap-run preloads: it exports the functions that it interposes and nothing
// else, and depends on the C library alone.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <alloctap/event/offered_annotations.hpp>
#include <alloctap/os/linux/raw_system_call.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/arena.hpp>
#include <alloctap/runtime/fork_handlers.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "children_hint.hpp"
#include "confinement.hpp"
#include "fatal_signals.hpp"
#include "final_report.hpp"
#include "helper_process.hpp"
#include "interposed_exec.hpp"
#include "name_cache.hpp"
#include "own_object.hpp"
#include "program_environment.hpp"
#include "report_thread.hpp"
#include "run_hook.hpp"
#include "run_suppressions.hpp"
#include "settings.hpp"
#include "signal_stacks.hpp"
#include "standard_error.hpp"
#include "tracker_kind.hpp"

extern "C" {

/// In glibc's place for the C++ library in this object, which asks for destructors at exit. It is
/// to serve threads until the process is gone, and glibc's table has room for 32: then it grows by
/// blocks, of which threads that exit at the same time read what is gone.
int __cxa_atexit(void (*)(void*), void*, void*) noexcept { return 0; }
}

namespace alloctap::run {
namespace {

/// The settings point into it.
constinit std::array<char, kMaxEncodedBytes> encoded_settings{};
constinit std::optional<Settings> settings;

bool reports_to_standard_output() noexcept {
  const auto targets = settings->targets();
  return std::any_of(targets.begin(), targets.end(), [](const DumpTarget& target) {
    return target.pattern == kStandardOutputPath;
  });
}

/// Writes what the program printed before the report that goes the same way. exit would do it after
/// all handlers, without waiting for locks either.
void flush_standard_output() noexcept {
  if (!reports_to_standard_output() || ::ftrylockfile(stdout) != 0) return;
  ::fflush_unlocked(stdout);
  ::funlockfile(stdout);
}

void report() noexcept {
  if (!report_owed()) return;
  yield_to_fatal_signal();
  settle_report();
  yield_to_fatal_signal();
}

/// Not by its id: a filter of system calls may refuse to say it.
constinit std::atomic<pthread_t> exiting_thread{};

/// As the C library does from 2.41 on. Before, threads that call exit together share one list of
/// handlers: they would end the process behind the back of the one that is in the last of them, and
/// flush its buffers once more. So until the report is written, each finds another one to wait in:
/// the handler registers itself again, and one more is there for each thread that may be between
/// taking its own and doing so.
constexpr int kThreadsAtOnce = 8;

void let_one_thread_exit() noexcept {
  const pthread_t mine = ::pthread_self();
  pthread_t first{};
  if (!exiting_thread.compare_exchange_strong(first, mine) && first != mine) sleep_for_ever();
}

/// What the program is to end with in the place of `status`.
int exit_code_for(int status) noexcept {
  return report_written() ? code_of_errors(status) : status;
}

void report_at_exit(int status, void*) {
  if (!report_owed()) return;
  if (!report_written()) ::on_exit(&report_at_exit, nullptr);
  let_one_thread_exit();
  flush_standard_output();
  report();
  const int code = exit_code_for(status);
  if (code == status) return;
  // What exit would do yet.
  std::fflush(nullptr);
  for (;;) os::raw_system_call(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

void report_at_quick_exit() {
  if (!report_owed()) return;
  if (!report_written()) ::at_quick_exit(&report_at_quick_exit);
  let_one_thread_exit();
  report();
}

[[noreturn]] void report_and_leave(int status) noexcept {
  report();
  // The C library's function would come back to here.
  for (;;) os::raw_system_call(SYS_exit_group, exit_code_for(status), 0, 0, 0, 0, 0);
}

void watch_for_the_end() noexcept {
  if (call_missing_for_reports() != nullptr) return;
  if (start_report_thread()) watch_fatal_signals();
}

/// The time in which no signal interrupts the calling thread.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

/// After the tracker's own handler has made its tables whole. The parent's handlers are in force: a
/// signal that came before there is a thread for the report would wait for it for ever.
void in_forked_child() noexcept {
  const BlockedSignals blocked;
  exiting_thread.store({});
  inherit_refused_calls();
  drop_standard_error();
  if (settings->follow_children) {
    keep_only_my_signal_stack();
    owe_report(*settings);
    watch_for_the_end();
  } else {
    forgive_report();
    RunHook::abandon();
    stop_watching_fatal_signals();
  }
}

/// What the tables of a small program take.
constexpr std::size_t kLeastMemory = 3 * Arena::kChunkBytes;

bool has_memory() noexcept {
  void* const pages = Arena::allocate_pages(kLeastMemory);
  if (pages != nullptr) Arena::deallocate_pages(pages, kLeastMemory);
  return pages != nullptr;
}

bool start_tracker(const TrackerKind& kind) noexcept {
  if (!has_memory()) {
    print_line(
        "the system has no memory for the tracker; nothing is tracked; raise the limits of "
        "ulimit -v and -d");
    return false;
  }
  RunHook::choose(settings->hook, __ehdr_start);
  if (!kind.start(*settings)) return false;
  RunHook::print_warnings();
  return ForkHandlers::install(&in_forked_child);
}

/// This object has an unwinder of its own, which must have walked once before its C++ runtime can
/// let an exception pass through an interposed operator new: it learns the sizes of registers then.
void prepare_for_exceptions() noexcept {
  const auto stop = [](_Unwind_Context*, void*) { return _URC_END_OF_STACK; };
  ::_Unwind_Backtrace(stop, nullptr);
}

/// Runs before all other constructors: the object is linked with -z initfirst.
__attribute__((constructor)) void when_loaded(int, char**, char** environment) {
  const os::ErrnoGuard preserve_error;
  prepare_for_exceptions();
  find_originals();
  find_exec_functions();
  if (settings && !settings->follow_children) hide_settings(environment);
  if (report_owed()) load_suppressions(*settings);
  if (report_owed()) watch_for_the_end();
  // Before the program can confine itself in a way that is not seen.
  await_report_thread();
  // The modules that the program begins with are relocated now.
  OfferedAnnotations::offer_to_new_modules();
  OwnObject::is_loaded.store(true, std::memory_order_relaxed);
}

}  // namespace

const Settings* read_settings() noexcept {
  if (settings) return &*settings;
  const os::ErrnoGuard preserve_error;
  const UseInternalArena own;
  const std::string_view text = os::initial_environment(kSettingsVariable, encoded_settings);
  if (text.empty()) return nullptr;
  settings = decode(text);
  if (!settings) {
    print_line("ALLOCTAP_RUN is not what alloctap-run sets; nothing is tracked");
    return nullptr;
  }
  return settings->apply_to(os::current_process_id()) ? &*settings : nullptr;
}

void begin_run(const TrackerKind& kind) noexcept {
  const os::ErrnoGuard preserve_error;
  const UseInternalArena own;
  choose_tracker_kind(kind);
  if (!start_tracker(kind)) return;
  note_standard_error();
  static constinit char directory[kPathBytes]{};
  if (::getcwd(directory, sizeof directory) != nullptr) provide_spare_directory(directory);
  if (reports_to_standard_output()) note_standard_output();
  HelperProcess::note_start_of_program();
  note_earlier_children();
  if (settings->follow_children) NameCache::create();
  owe_report(*settings);
  // The loader registers its destructors later, so the report comes after all of them.
  for (int i = 0; i <= kThreadsAtOnce; ++i) {
    // atexit would tie the call to the unloading of this object.
    ::on_exit(&report_at_exit, nullptr);
    ::at_quick_exit(&report_at_quick_exit);
  }
}

}  // namespace alloctap::run

extern "C" {

ALLOCTAP_EXPORT void _exit(int status) { alloctap::run::report_and_leave(status); }
ALLOCTAP_EXPORT void _Exit(int status) noexcept { alloctap::run::report_and_leave(status); }
}
