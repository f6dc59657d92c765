// What calls do on Windows that are to fail.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "alloctap/fail/injected_failures.hpp"
#include "alloctap/hook/windows_import_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/testing/fail_each_allocation.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::escape;

struct FailingConfig : DefaultConfig {
  using Hook = WindowsImportHook;
  using Failures = InjectedFailures;
};
using FailingTracker = Tracker<FailingConfig>;

/// Nobody else asks for so many bytes.
constexpr std::size_t kSize = 12'345;
constexpr FailureRule kOfThatSize{.min_size = kSize, .max_size = kSize};

template <class Call>
auto failing(Call call) {
  const FailingAllocations scope(kOfThatSize);
  return call();
}

ALLOCTAP_NOINLINE void* level_allocates() { return escape(std::malloc(kSize)); }

}  // namespace

TEST_CASE("calls of Windows that are to fail return null and say why") {
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  const HANDLE heap = ::GetProcessHeap();
  const auto [block, error] = failing([heap] {
    ::SetLastError(ERROR_SUCCESS);
    void* const got = escape(::HeapAlloc(heap, 0, kSize));
    return std::pair(got, ::GetLastError());
  });
  CHECK(block == nullptr);
  CHECK(error == ERROR_NOT_ENOUGH_MEMORY);

  auto* const old = static_cast<char*>(::HeapAlloc(heap, 0, 100));
  std::strcpy(old, "content");
  CHECK(failing([=] { return escape(::HeapReAlloc(heap, 0, old, kSize)); }) == nullptr);
  CHECK(std::strcmp(old, "content") == 0);
  CHECK(::HeapFree(heap, 0, old) != 0);
  const auto snapshot = FailingTracker::snapshot();
  REQUIRE(snapshot.ok());
  CHECK(snapshot->account.dropped == 0);
}

TEST_CASE("functions of C and C++ on Windows that are to fail") {
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  CHECK(failing(&level_allocates) == nullptr);
  CHECK(failing([] { return escape(::operator new(kSize, std::nothrow)); }) == nullptr);
  CHECK_THROWS_AS(failing([] { return escape(::operator new(kSize)); }), std::bad_alloc);
  void* elsewhere = nullptr;
  failing([&] {
    std::thread([&] { elsewhere = level_allocates(); }).join();
    return 0;
  });
  CHECK(elsewhere != nullptr);
  std::free(elsewhere);
}

TEST_CASE("by the code of a function on Windows, and each of a function in turn") {
  const auto session = FailingTracker::start();
  REQUIRE(session.ok());
  const auto allocate_in = [](const AddressRange& code) {
    FailureRule rule = kOfThatSize;
    rule.called_in = code;
    const FailingAllocations scope(rule);
    return level_allocates();
  };
  CHECK(allocate_in(function_range(&level_allocates)) == nullptr);
  void* const block = allocate_in({});
  CHECK(block != nullptr);
  std::free(block);

  const FailureWalk walk = fail_each_allocation(
      [] {
        delete[] escape(new char[kSize]);
        std::free(level_allocates());
      },
      {.rule = kOfThatSize});
  CHECK(walk.complete);
  CHECK(walk.points == 2);
  CHECK(walk.bad_allocs == 1);
}
