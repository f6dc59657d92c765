// Calls at the edges: cases 19, 20, 21 and 23 of the reference.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/contract/malloc_hooks/hooked_tracker.hpp"
#include "tests/support/child_process.hpp"

extern char** environ;

namespace {

using namespace alloctap::testing;

/// Allocated before main, freed after it.
const std::unique_ptr<int[]> before_main(new int[100]);

__attribute__((constructor(101))) void allocate_first() {
  std::free(escape(std::malloc(10)));
  std::free(escape(std::calloc(10, 10)));
}

alloctap::Session started() {
  auto session = HookedTracker::start();
  REQUIRE_MESSAGE(session.ok(), session.status().ToString());
  return *std::move(session);
}

/// Frees a block while its thread's last destructors run.
struct FreesLate {
  void* block = nullptr;
  ~FreesLate() { std::free(block); }
};

thread_local FreesLate frees_late;

pthread_key_t make_key() {
  pthread_key_t key{};
  if (pthread_key_create(&key, [](void* block) { std::free(block); }) != 0) std::abort();
  return key;
}

}  // namespace

TEST_CASE(
    "case 19, TLS teardown: what 2,000 short threads free in their last destructors is known") {
  const auto session = started();
  static const pthread_key_t key = make_key();
  const EventCount count;
  for (int i = 0; i < 2000; ++i) {
    std::thread([] {
      frees_late.block = escape(std::malloc(11));
      pthread_setspecific(key, escape(std::malloc(13)));
    }).join();
  }
  const Difference difference = count.so_far();
  CHECK(difference.allocations >= 4000);
  CHECK(difference.live_bytes < 100'000);
  if (difference.unmatched_frees) CHECK(*difference.unmatched_frees == 0);
}

TEST_CASE("case 20, lock state: a child forked under eight allocating threads goes on counting") {
  const auto session = started();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&stop] {
      while (!stop) std::free(escape(std::malloc(48)));
    });
  }
  std::array<bool, 5> held{};
  for (bool& holds : held) {
    holds = holds_in_child([] {
      const EventCount count;
      void* const block = escape(std::malloc(1234));
      const std::uint64_t counted = count.so_far().live_bytes;
      std::free(block);
      return counted == (told_after_fork() ? 1234 : 0) && count.so_far().live_bytes == 0;
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const bool holds : held) CHECK(holds);
}

TEST_CASE("case 20, lock state: posix_spawn leaves the parent counting") {
  const auto session = started();
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const EventCount count;
  void* const block = escape(std::malloc(77));
  const Difference difference = count.so_far();
  std::free(block);
  CHECK(difference.live_bytes == 77);
}

TEST_CASE(
    "case 21, bootstrap: a block from before the start is an unmatched free where that is told") {
  void* const early = escape(std::malloc(10));
  auto session = started();
  const EventCount count;
  std::free(early);
  void* const late = escape(std::malloc(30));
  const Difference difference = count.so_far();
  session.end();
  std::free(late);
  const Difference after = count.so_far();
  CHECK(difference.unmatched_frees.has_value() != misses_something());
  if (difference.unmatched_frees) CHECK(*difference.unmatched_frees == 1);
  CHECK(difference.live_bytes == 30);
  CHECK(after.live_bytes == 30);
}

TEST_CASE("case 21, bootstrap: outside a session nothing is told, and a second session goes on") {
  const EventCount count;
  std::free(escape(std::malloc(10)));
  const Difference outside = count.so_far();
  const auto session = started();
  const EventCount inside;
  std::free(escape(std::malloc(10)));
  const Difference second = inside.so_far();
  CHECK(outside.allocations == 0);
  CHECK(second.allocations == 1);
  CHECK(second.deallocations == 1);
}

TEST_CASE("case 21, bootstrap: a symbol that dlsym does not find, whose error is allocated") {
  const auto session = started();
  const EventCount count;
  void* const symbol = dlsym(RTLD_DEFAULT, "alloctap_no_such_symbol");
  const bool told = dlerror() != nullptr;
  const bool once = dlerror() == nullptr;
  const Difference difference = count.so_far();
  CHECK(symbol == nullptr);
  CHECK(told);
  CHECK(once);
  if (difference.unmatched_frees) CHECK(*difference.unmatched_frees == 0);
}

TEST_CASE("case 23, ABI: errno is as the allocator leaves it") {
  const auto session = started();
  errno = ERANGE;
  void* const block = escape(std::malloc(100));
  const int after_malloc = errno;
  errno = ERANGE;
  std::free(block);
  const int after_free = errno;
  CHECK(after_malloc == ERANGE);
  CHECK(after_free == ERANGE);
}

TEST_CASE("case 23, ABI: blocks are aligned as they were asked for, under a hook as without") {
  const auto session = started();
  for (const std::size_t alignment : {64U, 256U, 4096U}) {
    void* block = nullptr;
    REQUIRE(posix_memalign(&block, alignment, 100) == 0);
    const bool aligned = reinterpret_cast<std::uintptr_t>(escape(block)) % alignment == 0;
    std::free(block);
    CHECK(aligned);
  }
}

TEST_CASE("case 23, ABI: an exception passes, and what it allocated is given back") {
  const auto session = started();
  const EventCount count;
  bool caught = false;
  try {
    throw std::runtime_error("a text that is too long to be kept inside of a string");
  } catch (const std::runtime_error&) {
    caught = true;
  }
  const Difference difference = count.so_far();
  CHECK(caught);
  CHECK(difference.allocations > 0);
  CHECK(difference.live_bytes == 0);
}
