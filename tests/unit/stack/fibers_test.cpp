#include "alloctap/stack/fibers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

using alloctap::Fibers;

/// One that is known while it is alive.
class FiberScope {
 public:
  FiberScope(const void* stack, std::size_t bytes) : fiber_(Fibers::add(stack, bytes)) {}
  ~FiberScope() { Fibers::remove(fiber_); }
  FiberScope(const FiberScope&) = delete;
  FiberScope& operator=(const FiberScope&) = delete;

 private:
  void* const fiber_;
};

std::array<char, 4096> fiber_memory;

std::uintptr_t at(std::size_t offset) {
  return reinterpret_cast<std::uintptr_t>(fiber_memory.data()) + offset;
}

}  // namespace

TEST_CASE("each of many stacks is found by the addresses on it and no others") {
  std::vector<std::unique_ptr<FiberScope>> scopes;
  // With gaps of as many bytes between them, registered out of order.
  for (const std::size_t i : {3U, 0U, 2U, 1U}) {
    scopes.push_back(std::make_unique<FiberScope>(&fiber_memory[i * 1024], 512));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::size_t inside : {0U, 1U, 511U}) {
      const auto* found = Fibers::find(at(i * 1024 + inside));
      REQUIRE(found != nullptr);
      CHECK(found->bounds.low == at(i * 1024));
    }
    CHECK(Fibers::find(at(i * 1024 + 512)) == nullptr);
    CHECK(Fibers::find(at(i * 1024 + 1023)) == nullptr);
  }
  CHECK(Fibers::find(at(0) - 1) == nullptr);
  scopes.erase(scopes.begin() + 1);
  CHECK(Fibers::find(at(100)) == nullptr);
  CHECK(Fibers::find(at(1024)) != nullptr);
}

TEST_CASE("the version changes with every scope that comes and goes") {
  const std::uint64_t before = Fibers::version();
  std::uint64_t inside = before;
  {
    const FiberScope scope(fiber_memory.data(), fiber_memory.size());
    inside = Fibers::version();
    CHECK(inside != before);
  }
  CHECK(Fibers::version() != inside);
  CHECK(Fibers::version() != before);
}

TEST_CASE("of two scopes for one place the first counts, and the second takes nothing with it") {
  const FiberScope first(fiber_memory.data(), fiber_memory.size());
  const auto* found = Fibers::find(at(10));
  {
    const FiberScope second(fiber_memory.data(), 100);
  }
  CHECK(Fibers::find(at(10)) == found);
  CHECK(Fibers::find(at(200)) == found);
}

TEST_CASE("a fiber that is removed again, or was never added, takes nothing with it") {
  void* const removed = Fibers::add(fiber_memory.data(), 512);
  Fibers::remove(removed);
  const FiberScope present(fiber_memory.data(), 512);
  Fibers::remove(removed);
  Fibers::remove(fiber_memory.data());
  Fibers::remove(nullptr);
  CHECK(Fibers::find(at(10)) != nullptr);
}

TEST_CASE("scopes come and go on several threads while others look") {
  std::atomic<bool> stop{false};
  std::thread looks([&] {
    while (!stop) static_cast<void>(Fibers::find(at(1500)));
  });
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 2000; ++round) {
        const FiberScope scope(&fiber_memory[i * 1024], 1024);
        CHECK(Fibers::find(at(i * 1024 + 5)) != nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  looks.join();
  CHECK(Fibers::find(at(5)) == nullptr);
}
