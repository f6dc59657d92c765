// Cases 19, 20 and 21 of hook backends: threads that end, children, and what was there before.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/os/frozen_process.hpp"
#include "tests/contract/hooks/hooked_program.hpp"
#include "tests/contract/hooks/plugin.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/late_frees.hpp"

extern char** environ;

namespace {

using namespace alloctap::testing;

/// Allocated before main, freed after it: neither is recorded, both must work.
const std::unique_ptr<int[]> before_main(new int[100]);

__attribute__((constructor(101))) void allocate_first() {
  std::free(escape(std::malloc(10)));
  std::free(escape(std::calloc(10, 10)));
}

void* escaped_malloc(std::size_t size) { return escape(std::malloc(size)); }

/// Threads that allocate until the end of the scope.
class AllocatingThreads {
 public:
  AllocatingThreads() {
    for (std::thread& thread : threads_) {
      thread = std::thread([this] {
        while (!stop_) std::free(escape(std::malloc(48)));
      });
    }
  }
  AllocatingThreads(const AllocatingThreads&) = delete;
  AllocatingThreads& operator=(const AllocatingThreads&) = delete;
  ~AllocatingThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::array<std::thread, 8> threads_;
};

/// In a forked child: what it allocates counts, also in what it opens.
bool child_is_counted() {
  const std::uint64_t seen = sees().forked_children ? 1 : 0;
  const EventCount count;
  void* const block = escape(std::malloc(1234));
  const EventTotals held = count.so_far();
  std::free(block);
  if (held.live_bytes != 1234 * seen || count.so_far().live_bytes != 0) return false;
  const Plugin plugin;
  auto* const allocate = plugin.function<void()>("allocate_in_plugin");
  if (allocate == nullptr) return false;
  const EventCount in_plugin;
  allocate();
  const EventTotals called = in_plugin.so_far();
  return called.allocations == seen && called.deallocations == seen;
}

/// The record of a block of 30 bytes that was freed outside of a session: its address may be
/// another block's in later cases. The allocator gives such an address again soon, or not for long.
void end_stale_record() {
  const Recording recording;
  std::array<void*, 50> blocks{};
  for (void*& block : blocks) block = escape(std::malloc(30));
  for (void* block : blocks) std::free(block);
}

/// Less than nothing where threads of an earlier case gave back what was theirs.
std::int64_t net_bytes(const EventTotals& totals) {
  return static_cast<std::int64_t>(totals.live_bytes);
}

/// A session counts, whatever the program did before.
void check_that_it_counts() {
  const EventCount count;
  void* const block = escape(std::malloc(77));
  const EventTotals totals = count.so_far();
  std::free(block);
  CHECK(totals.live_bytes == 77);
}

bool ended_well(pid_t child) {
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE(
    "case 19, TLS teardown: what 2,000 short threads free in their last destructors is known") {
  const Recording recording;
  const EventCount count;
  run_threads_that_free_late(2000, &escaped_malloc);
  const EventTotals totals = count.so_far();
  CHECK(totals.allocations >= 4000);
  CHECK(net_bytes(totals) < 100'000);
  check_unmatched(totals, 0);
}

namespace {

std::atomic<int> detached_ended{0};

/// Ends a detached thread: the last that it runs of the program.
void free_and_count(void* block) {
  std::free(block);
  ++detached_ended;
}

}  // namespace

TEST_CASE("case 19, TLS teardown: detached threads give back what they hold, with nobody waiting") {
  constexpr int kThreads = 200;
  pthread_key_t key{};
  REQUIRE(pthread_key_create(&key, &free_and_count) == 0);
  const std::size_t threads_before = alloctap::os::count_threads();
  const Recording recording;
  const EventCount count;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([key] {
      frees_late.block = escaped_malloc(1000);
      pthread_setspecific(key, escaped_malloc(1000));
    }).detach();
  }
  while (detached_ended < kThreads) std::this_thread::yield();
  const EventTotals totals = count.so_far();
  pthread_key_delete(key);
  // What the C library gives back at a thread's very end would count in later cases.
  while (alloctap::os::count_threads() > threads_before) std::this_thread::yield();
  CHECK(totals.allocations >= 2 * kThreads);
  CHECK(net_bytes(totals) < 1000 * kThreads);
  check_unmatched(totals, 0);
}

TEST_CASE(
    "case 19, TLS teardown: a plug-in's thread_local is the loader's block, until its thread "
    "ends") {
  constexpr int kThreads = 20;
  constexpr std::int64_t kBytes = 20'000;
  const Recording recording;
  const Plugin plugin;
  auto* const touch = plugin.function<int()>("touch_thread_local");
  REQUIRE((touch != nullptr));
  std::array<EventTotals, kThreads> touched{};
  std::array<int, kThreads> calls{};
  const EventCount count;
  for (std::size_t i = 0; i < kThreads; ++i) {
    std::thread([&] {
      const EventCount in_thread;
      static_cast<void>(touch());
      touched[i] = in_thread.so_far();
      calls[i] = touch();
    }).join();
  }
  const EventTotals left = count.so_far();
  for (std::size_t i = 0; i < kThreads; ++i) {
    CHECK(calls[i] == 2);
    CHECK((touched[i].allocated_bytes >= std::uint64_t{kBytes}) == sees().loader);
    if (!sees().loader) CHECK(touched[i].allocations == 0);
  }
  // The C library keeps some stacks, with what belongs to them, for threads to come.
  CHECK(net_bytes(left) < kThreads / 2 * kBytes);
  check_unmatched(left, 0);
}

TEST_CASE(
    "case 20, lock state: children forked under eight allocating threads count on, and in "
    "plug-ins") {
  const Recording recording;
  std::array<bool, 5> held{};
  {
    const AllocatingThreads threads;
    for (bool& holds : held) holds = holds_in_child(&child_is_counted);
  }
  for (const bool holds : held) CHECK(holds);
}

TEST_CASE("case 20, lock state: a forked child runs its destructors and exits") {
  const Recording recording;
  bool ended = false;
  std::fflush(nullptr);
  {
    const AllocatingThreads threads;
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      std::free(escape(std::malloc(100)));
      std::exit(0);
    }
    ended = ended_well(child);
  }
  CHECK(ended);
  check_that_it_counts();
}

TEST_CASE("case 20, lock state: posix_spawn and vfork leave the parent counting") {
  const Recording recording;
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  pid_t spawned = 0;
  REQUIRE(posix_spawn(&spawned, program, nullptr, nullptr, arguments, environ) == 0);
  CHECK(ended_well(spawned));
  check_that_it_counts();
  const pid_t child = vfork();
  if (child == 0) {
    execve(program, arguments, environ);
    _exit(1);
  }
  CHECK(ended_well(child));
  check_that_it_counts();
}

TEST_CASE(
    "case 21, bootstrap: a block from before the start is an unmatched free where that is told") {
  void* const early = escape(std::malloc(10));
  Recording recording;
  const EventCount count;
  std::free(early);
  void* const late = escape(std::malloc(30));
  const EventTotals totals = count.so_far();
  recording.end();
  std::free(late);
  const EventTotals after = count.so_far();
  check_unmatched(totals, 1);
  CHECK(totals.live_bytes == 30);
  CHECK(after.live_bytes == 30);
  end_stale_record();
}

TEST_CASE("case 21, bootstrap: outside a session nothing is told, and a second session goes on") {
  const EventCount count;
  std::free(escape(std::malloc(10)));
  const EventTotals outside = count.so_far();
  const Recording recording;
  const EventCount inside;
  std::free(escape(std::malloc(10)));
  const EventTotals second = inside.so_far();
  CHECK(outside.allocations == 0);
  CHECK(second.allocations == 1);
  CHECK(second.deallocations == 1);
}

TEST_CASE("case 21, bootstrap: a symbol that dlsym does not find, whose error is allocated") {
  const Recording recording;
  const EventCount count;
  void* const symbol = dlsym(RTLD_DEFAULT, "alloctap_no_such_symbol");
  const bool told = dlerror() != nullptr;
  const bool once = dlerror() == nullptr;
  const EventTotals totals = count.so_far();
  CHECK(symbol == nullptr);
  CHECK(told);
  CHECK(once);
  check_unmatched(totals, 0);
}

TEST_CASE(
    "case 21, bootstrap: what the loader allocates and frees is known, or none of it is seen") {
  const Recording recording;
  // What is set aside for good at the first time.
  {
    const Plugin plugin;
  }
  const EventCount count;
  EventTotals open;
  {
    const Plugin plugin;
    open = count.so_far();
  }
  const EventTotals closed = count.so_far();
  CHECK((open.allocations > 0) == sees().loader);
  CHECK((closed.deallocations > 0) == sees().loader);
  CHECK(closed.live_bytes == 0);
  check_unmatched(closed, 0);
}
