// Who else handles SIGSEGV.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "alloctap/os/memory_faults.hpp"

namespace {

using namespace alloctap;

volatile char* closed_page = nullptr;
volatile int listened = 0;

os::FaultVerdict listen(const os::MemoryFault&) noexcept {
  listened = listened + 1;
  return os::FaultVerdict::kPassOn;
}

void end_plain(int) { ::_exit(10 + listened); }
void end_informed(int, siginfo_t* info, void* context) {
  ::_exit(info->si_addr == closed_page && context != nullptr ? 20 + listened : 1);
}

/// How a child that does `work` and then touches a page that it may not ends. The signal has its
/// default action before.
template <class Work>
int end_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(std::signal(SIGSEGV, SIG_DFL));
    closed_page =
        static_cast<char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    work();
    *closed_page = 7;
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

void handle(void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(SIGSEGV, &action, nullptr);
}

void handle_informed() {
  struct sigaction action{};
  action.sa_sigaction = &end_informed;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
}

/// As the first call of a tracker does, in this child.
void catch_anew() {
  os::FaultSignal::forget();
  if (!os::catch_memory_faults(&listen)) ::_exit(2);
}

}  // namespace

TEST_CASE("where nobody handled faults before, the process ends by the signal") {
  const int status = end_of_child(&catch_anew);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  const int ignored = end_of_child([] {
    static_cast<void>(std::signal(SIGSEGV, SIG_IGN));
    catch_anew();
  });
  CHECK(WIFSIGNALED(ignored));
}

TEST_CASE("a handler that was there has its turn after the listeners, as it wants to be called") {
  const int plain = end_of_child([] {
    handle(&end_plain, 0);
    catch_anew();
  });
  CHECK(WEXITSTATUS(plain) == 11);
  const int informed = end_of_child([] {
    handle_informed();
    catch_anew();
  });
  CHECK(WEXITSTATUS(informed) == 21);
  const int once = end_of_child([] {
    handle(&end_plain, static_cast<int>(SA_RESETHAND | SA_NODEFER));
    catch_anew();
  });
  CHECK(WEXITSTATUS(once) == 11);
}

TEST_CASE("a handler that comes later takes the place of the listeners") {
  const int later = end_of_child([] {
    catch_anew();
    handle(&end_plain, 0);
  });
  CHECK(WEXITSTATUS(later) == 10);
}
