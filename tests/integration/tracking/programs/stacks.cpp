// usage: stacks: allocates in functions that call each other in known ways. The size of a block
// tells which way it was.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "busy_threads.hpp"

// A function that is called last would leave no frame behind.
#define STAY() asm volatile("" : : : "memory")
#define FUNCTION __attribute__((noinline)) void

using programs::keep;

extern "C" {

FUNCTION leaf(std::size_t size) {
  keep(std::malloc(size));
  STAY();
}

FUNCTION inner(std::size_t size) {
  leaf(size);
  STAY();
}

FUNCTION middle(std::size_t size) {
  inner(size);
  STAY();
}

/// Its frame has no fixed size.
FUNCTION large_frame(std::size_t size) {
  keep(__builtin_alloca(10 * size));
  middle(size);
  STAY();
}

FUNCTION outer(std::size_t size) {
  large_frame(size);
  STAY();
}

FUNCTION recurse(int depth, std::size_t size) {
  if (depth == 0) {
    leaf(size);
  } else {
    recurse(depth - 1, size);
  }
  STAY();
}

int compare(const void*, const void*) {
  leaf(1003);
  STAY();
  return 0;
}

FUNCTION sort() {
  int numbers[2] = {1, 2};
  std::qsort(numbers, 2, sizeof(int), compare);
  STAY();
}

void handler(int) {
  leaf(1005);
  STAY();
}

FUNCTION interrupted() {
  ::raise(SIGUSR1);
  STAY();
}

FUNCTION thrower(std::size_t size) {
  leaf(size);
  if (size != 0) throw std::runtime_error("thrown through frames that allocate");
}

FUNCTION catcher() {
  try {
    thrower(1006);
  } catch (const std::runtime_error&) {
    leaf(1007);
  }
  STAY();
}

FUNCTION thread_body() {
  outer(1004);
  STAY();
}
}

int main() {
  outer(1001);
  recurse(299, 1002);
  sort();
  std::thread(thread_body).join();
  ::signal(SIGUSR1, handler);
  interrupted();
  catcher();
  keep(std::realloc(keep(std::malloc(1)), 1008));
  keep(::operator new(1009));
}
