#include "alloctap/runtime/fork_handlers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "tests/support/child_process.hpp"

extern "C" __attribute__((weak)) void __tsan_init();

namespace {

using alloctap::Arena;
using alloctap::ForkHandlers;
using alloctap::FutexLock;
using alloctap::RecordingScope;
using alloctap::ThreadStates;
using alloctap::WorldGate;
using alloctap::testing::holds_in_child;

/// A table as the tracker has them: a lock and two numbers that are equal outside of it.
class Table {
 public:
  void record() {
    const RecordingScope section;
    const std::lock_guard hold(lock_);
    first_ = first_ + 1;
    void* block = Arena::allocate(64 + first_ % 2048);
    Arena::deallocate(block, 64 + first_ % 2048);
    second_ = second_ + 1;
  }

  /// Whether nobody is in the middle of a change.
  bool is_whole() {
    const bool is_free = lock_.try_lock();
    if (is_free) lock_.unlock();
    return is_free && first_ == second_;
  }

 private:
  FutexLock lock_;
  volatile std::uint64_t first_ = 0;
  volatile std::uint64_t second_ = 0;
};

/// Records on a thread of its own until it ends.
class BusyThread {
 public:
  /// Returns once the thread records: a sanitizer holds locks of its own while a thread starts, and
  /// a child would find them held.
  explicit BusyThread(Table& table) : thread_([this, &table] { run(table); }) {
    while (!recording_) std::this_thread::yield();
  }
  ~BusyThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  void run(Table& table) {
    for (; !stop_; recording_ = true) table.record();
  }

  std::atomic<bool> recording_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

int child_calls = 0;
bool callback_found_all_whole = false;

void count_child() noexcept { ++child_calls; }

/// ThreadSanitizer takes a thread of the child for one of the parent's at the same address.
bool can_start_threads_in_child() { return &__tsan_init == nullptr; }

bool new_thread_works(Table& table) {
  bool works = false;
  std::thread([&] {
    table.record();
    works = ThreadStates::count() == 2;
  }).join();
  return works;
}

bool child_works(Table& table) {
  bool works = table.is_whole() && child_calls == 1 && ThreadStates::count() == 1 &&
               alloctap::this_thread_slot().depth == 0 && !alloctap::inside_tracker();
  table.record();
  if (can_start_threads_in_child()) works = new_thread_works(table) && works;
  const std::lock_guard hold(alloctap::control_lock);
  works = ThreadStates::stop_world() && works;
  ThreadStates::resume_world();
  return works && table.is_whole();
}

template <std::size_t Index>
void numbered() noexcept {}

template <std::size_t... Indices>
std::size_t install_all(std::index_sequence<Indices...>) {
  return (static_cast<std::size_t>(ForkHandlers::install(&numbered<Indices>)) + ...);
}

}  // namespace

TEST_CASE("a process whose threads record forks 200 times and every child is whole") {
  WorldGate::initialize();
  REQUIRE(ForkHandlers::install(&count_child));
  REQUIRE(ForkHandlers::install(&count_child));
  Table table;
  table.record();
  BusyThread one(table);
  BusyThread two(table);
  int broken = 0;
  for (int i = 0; i < 200; ++i) {
    if (!holds_in_child([&] { return child_works(table); })) ++broken;
  }
  CHECK(broken == 0);
  CHECK(child_calls == 0);
  CHECK(alloctap::this_thread_slot().depth == 0);
  CHECK_FALSE(alloctap::inside_tracker());
}

TEST_CASE("children of children are whole too") {
  WorldGate::initialize();
  REQUIRE(ForkHandlers::install(&count_child));
  Table table;
  table.record();
  CHECK(holds_in_child([&] {
    child_calls = 0;
    BusyThread busy(table);
    return holds_in_child([&] { return child_works(table); });
  }));
}

TEST_CASE("callbacks of a child find the guard layer whole and the control lock held") {
  WorldGate::initialize();
  CHECK(holds_in_child([] {
    const bool installed = ForkHandlers::install([]() noexcept {
      void* block = Arena::allocate(64);
      Arena::deallocate(block, 64);
      callback_found_all_whole = block != nullptr && alloctap::inside_tracker();
    });
    return installed && holds_in_child([] { return callback_found_all_whole; });
  }));
}

TEST_CASE("more callbacks than there is room for are refused") {
  CHECK(holds_in_child([] {
    const std::size_t installed = install_all(std::make_index_sequence<200>());
    return installed > 0 && installed < 200 &&
           install_all(std::make_index_sequence<200>()) == installed;
  }));
}
