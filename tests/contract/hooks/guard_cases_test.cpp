// Cases 18 and 19 of hook backends: what a hook calls does not come back to it, at any
// optimization, whatever the compiler thinks that malloc cannot see.
#include <doctest/doctest.h>

#include <thread>

#include "tests/contract/hooks/allocating_sink.hpp"
#include "tests/contract/hooks/plugin.hpp"

namespace {

using namespace alloctap::testing;

constexpr int kRounds = 200;

void allocate_and_free() {
  void* volatile const block = std::malloc(AllocatingSink::kSize);
  std::free(block);
}

/// While `body` is what the hook does.
template <class Work>
void run_hooked(void (*body)(), Work work) {
  AllocatingSink::body = body;
  AllocatingSink::clear();
  const std::string problem = guarded_hook.install();
  REQUIRE_MESSAGE(problem.empty(), problem);
  work();
  guarded_hook.uninstall();
  CHECK(AllocatingSink::returns.load() == 0);
  CHECK(AllocatingSink::allocations.load() == kRounds);
  CHECK(AllocatingSink::deallocations.load() == kRounds);
}

}  // namespace

TEST_CASE("case 18, deleted guard: a sink that allocates sees each call of the program once") {
  // The first call of backtrace loads a library.
  allocate_a_lot();
  run_hooked(&allocate_a_lot, [] {
    for (int i = 0; i < kRounds; ++i) allocate_and_free();
  });
}

namespace {

int (*touch_thread_local)() = nullptr;
std::atomic<int> touches{0};

void touch() { touches += touch_thread_local(); }

}  // namespace

TEST_CASE("case 19, TLS teardown: a hook may be the first to touch a plug-in's thread_local") {
  const Plugin plugin;
  touch_thread_local = plugin.function<int()>("touch_thread_local");
  REQUIRE((touch_thread_local != nullptr));
  touches = 0;
  run_hooked(&touch, [] {
    for (int i = 0; i < kRounds; ++i) std::thread(&allocate_and_free).join();
  });
  // At the block's allocation and at its free.
  CHECK(touches.load() == kRounds * (1 + 2));
}
