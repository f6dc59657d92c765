// What the cases for all backends do not ask of InlineHook.
#include "alloctap/hook/inline_hook.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/status.hpp"

namespace {

using namespace alloctap;

/// Counts what arrives.
struct CountingSink : EventSinkArchetype {
  static void on_allocate(const AllocationEvent&) noexcept { ++allocations; }
  static void on_modules_unloading() noexcept { ++unloading; }
  static void on_modules_unloaded() noexcept { ++unloaded; }
  static inline std::atomic<long> allocations{0};
  static inline std::atomic<int> unloading{0};
  static inline std::atomic<int> unloaded{0};
};

void allocate_once() {
  void* volatile block = std::malloc(10);
  std::free(block);
}

std::array<std::byte, 64> bytes_of(const char* function) {
  std::array<std::byte, 64> bytes{};
  std::memcpy(bytes.data(), dlsym(RTLD_DEFAULT, function), bytes.size());
  return bytes;
}

}  // namespace

TEST_CASE("what is closed is told, before and after") {
  REQUIRE(InlineHook::install<CountingSink>().ok());
  void* const library = dlopen("libc.so.6", RTLD_LAZY);
  dlclose(library);
  InlineHook::uninstall();
  CHECK(CountingSink::unloading == 1);
  CHECK(CountingSink::unloaded == 1);
  dlclose(dlopen("libc.so.6", RTLD_LAZY));
  CHECK(CountingSink::unloading == 1);
}

TEST_CASE("functions are restored byte for byte, and hooked again") {
  const auto before = bytes_of("malloc");
  for (int round = 0; round < 3; ++round) {
    REQUIRE(InlineHook::install<CountingSink>().ok());
    CHECK(bytes_of("malloc") != before);
    const long known = CountingSink::allocations;
    allocate_once();
    const long seen = CountingSink::allocations - known;
    InlineHook::uninstall();
    CHECK(seen == 1);
    CHECK(bytes_of("malloc") == before);
    const long last = CountingSink::allocations;
    allocate_once();
    CHECK(CountingSink::allocations == last);
  }
}

TEST_CASE("threads allocate while the hook comes and goes") {
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      static_cast<void>(nice(5));
      while (!stopping) {
        allocate_once();
        void* volatile block = std::realloc(std::calloc(3, 5), 100);
        std::free(block);
        std::string* volatile text = new std::string(50, 'x');
        delete text;
      }
    });
  }
  int failed = 0;
  for (int i = 0; i < 20; ++i) {
    if (!InlineHook::install<CountingSink>().ok()) ++failed;
    InlineHook::uninstall();
  }
  stopping = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
}

TEST_CASE("if one function cannot be patched none is, and the reason is told") {
  const auto before = bytes_of("malloc");
  const auto own = FunctionPatch::prepare({.address = dlsym(RTLD_DEFAULT, "reallocarray")},
                                          reinterpret_cast<const void*>(&allocate_once));
  REQUIRE(own.ok());
  const alloctap::Status status = InlineHook::install<CountingSink>();
  CHECK(status.code() == alloctap::StatusCode::kAlreadyExists);
  CHECK(std::string(status.message()).find("reallocarray") != std::string::npos);
  CHECK(bytes_of("malloc") == before);
  InlineHook::uninstall();
}
