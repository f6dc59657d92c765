// Threads that come and go by the thousand, on stacks that others had.
#include <pthread.h>
#include <sys/mman.h>

#include <thread>

#include "compared_process.hpp"

namespace {

using namespace alloctap::testing;

ALLOCTAP_NOINLINE void recurse(int depth) {
  allocate();
  if (depth > 0) recurse(depth - 1);
  stay();
}

void* recurse_in_thread(void* depth) {
  recurse(static_cast<int>(reinterpret_cast<std::intptr_t>(depth)));
  return nullptr;
}

void run_on(void* stack, std::size_t bytes, int depth) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, bytes);
  pthread_t thread{};
  void* argument = reinterpret_cast<void*>(static_cast<std::intptr_t>(depth));
  REQUIRE(pthread_create(&thread, &attributes, &recurse_in_thread, argument) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

char* map_stack(std::size_t bytes) {
  void* stack =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  REQUIRE(stack != MAP_FAILED);
  return static_cast<char*>(stack);
}

}  // namespace

TEST_CASE("two thousand threads, one after the other and side by side") {
  ComparedRun run;
  for (int i = 0; i < 1000; ++i) {
    std::thread one([i] { recurse(i % 29); });
    std::thread other([i] { recurse(i % 31); });
    one.join();
    other.join();
  }
  run.check_whole(20'000);
}

TEST_CASE("a stack whose upper part has gone is another thread's") {
  ComparedRun run;
  const std::size_t page = 4096;
  const std::size_t large = 256 * page;
  // Frames of the smaller stack come to lie where some of the larger one did.
  for (std::size_t gone = 16; gone <= 96; gone += 32) {
    char* stack = map_stack(large);
    for (int i = 0; i < 20; ++i) run_on(stack, large, 200 + i % 3);
    const std::size_t left = large - gone * page;
    munmap(stack + left, gone * page);
    for (int i = 0; i < 40; ++i) run_on(stack, left, 200 + i % 3);
    munmap(stack, left);
  }
  run.check_whole(30'000);
}
