#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <thread>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace {

namespace os = alloctap::os;

std::uintptr_t address_on_this_stack() {
  return reinterpret_cast<std::uintptr_t>(ALLOCTAP_FRAME_ADDRESS());
}

/// What the thread library says; it may not be asked inside malloc.
os::StackBounds bounds_by_thread_library() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto start = reinterpret_cast<std::uintptr_t>(low);
  return {start, start + size};
}

}  // namespace

TEST_CASE("the main thread's stack is found up to what the kernel put at its upper end") {
  const os::StackBounds bounds = os::find_stack_bounds(address_on_this_stack());
  CHECK(bounds.contains(address_on_this_stack()));
  CHECK(bounds.high >= bounds_by_thread_library().high);
  CHECK(bounds.contains(getauxval(AT_RANDOM)));
}

TEST_CASE("another thread's stack is found and holds all that the thread library gave it") {
  os::StackBounds bounds;
  os::StackBounds given;
  std::uintptr_t address = 0;
  std::thread([&] {
    address = address_on_this_stack();
    bounds = os::find_stack_bounds(address);
    given = bounds_by_thread_library();
  }).join();
  CHECK(bounds.contains(address));
  CHECK(given.contains(address));
  CHECK(bounds.low <= given.low);
  CHECK(bounds.high >= given.high);
  CHECK_FALSE(bounds.contains(address_on_this_stack()));
}

TEST_CASE("bounds end where another protection begins") {
  const std::size_t page = os::page_size();
  auto* memory = static_cast<char*>(os::map_pages(2 * page));
  REQUIRE(memory != nullptr);
  REQUIRE(mprotect(memory + page, page, PROT_NONE) == 0);
  const auto middle = reinterpret_cast<std::uintptr_t>(memory) + page;
  CHECK(os::find_stack_bounds(middle - 1).high == middle);
  CHECK(os::find_stack_bounds(middle).high == 0);
  os::unmap_pages(memory, 2 * page);
}

TEST_CASE("no frame of the main thread lies above the stack pointer that it began with") {
  const std::uintptr_t initial = os::initial_stack_pointer();
  CHECK(address_on_this_stack() < initial);
  CHECK(os::find_stack_bounds(address_on_this_stack()).contains(initial));
  CHECK(initial < getauxval(AT_RANDOM));
}

TEST_CASE("the first frame lies between that stack pointer and the end of the stack") {
  const std::uintptr_t initial = os::initial_stack_pointer();
  CHECK(os::is_initial_frame(initial));
  CHECK(os::is_initial_frame(initial + 64));
  CHECK_FALSE(os::is_initial_frame(initial - 16));
  CHECK_FALSE(os::is_initial_frame(getauxval(AT_EXECFN) + 1));
  CHECK_FALSE(os::is_initial_frame(UINTPTR_MAX));
}

TEST_CASE("an address that nothing is mapped at has no stack bounds") {
  const os::StackBounds bounds = os::find_stack_bounds(8);
  CHECK(bounds.low == 0);
  CHECK(bounds.high == 0);
  CHECK_FALSE(bounds.contains(0));
}
