// 9, 17: the whole family of allocation functions, patched and restored while 8 threads allocate.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "tests/contract/inline/allocator_calls.hpp"
#include "tests/support/busy_threads.hpp"
#include "tests/support/mapped_files.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr unsigned kThreads = 8;

/// Each patches all functions, or restores all: with 35 of them, 105,000 functions are.
int toggles() {
  const char* number = std::getenv("ALLOCTAP_TOGGLES");
  return number == nullptr ? 3'000 : std::atoi(number);
}

/// A function under its first name, and how often its replacement was called.
struct Member {
  const char* name;
  const void* address;
  std::atomic<long>* calls;
  FunctionPatch patch;
};

using Family = std::vector<Member>;

template <class Function>
void add_member(Family& family) {
  using Counted = CountedFunction<Function>;
  using Pointer = typename Function::Signature*;
  const void* const address = os::default_symbol(Function::name);
  INFO(std::string(Function::name));
  REQUIRE(address != nullptr);
  Counted::entry = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(address));
  if (std::ranges::find(family, address, &Member::address) != family.end()) return;
  auto patch = FunctionPatch::prepare({.address = address, .name = Function::name},
                                      reinterpret_cast<const void*>(&Counted::call));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  Counted::original = patch->original(&Counted::call);
  family.push_back({Function::name, address, &Counted::calls, *std::move(patch)});
}

Family prepare_family() {
  Family family;
  AllocationFunctions::for_each([&](auto function) { add_member<decltype(function)>(family); });
  return family;
}

/// Patches or restores all; how many failed.
int toggle(Family& family, bool patched) {
  return static_cast<int>(std::ranges::count_if(family, [&](Member& member) {
    return !(patched ? member.patch.enable() : member.patch.disable()).ok();
  }));
}

std::vector<long> calls_of(const Family& family) {
  std::vector<long> calls;
  for (const Member& member : family) calls.push_back(*member.calls);
  return calls;
}

bool were_all_called(const Family& family) {
  return std::all_of(family.begin(), family.end(),
                     [](const Member& member) { return *member.calls > 0; });
}

}  // namespace

TEST_CASE("the allocation functions are hooked and unhooked while 8 threads call all of them") {
  const auto files_before = mapped_files();
  {
    Family family = prepare_family();
    std::atomic<long> rounds{0};
    std::atomic<long> wrong{0};
    BusyThreads callers(kThreads, [&](unsigned number) {
      wrong += call_all(number * 32);
      ++rounds;
    });
    int failed = 0;
    int done = 0;
    const auto toggle_often = [&](int count) {
      for (int i = 0; i < count; ++i) failed += toggle(family, done++ % 2 == 0);
    };
    toggle_often(toggles());
    // Threads that starve may not have come to all of them while they were hooked.
    for (int more = 0; more < 100 && !were_all_called(family); ++more) toggle_often(100);
    callers.stop();
    MESSAGE(done << " toggles of " << family.size() << " functions, " << rounds.load()
                 << " rounds of the threads");
    CHECK(failed == 0);
    CHECK(wrong == 0);
    CHECK(toggle(family, false) == 0);

    const auto during = calls_of(family);
    CHECK(call_all(1) == 0);
    CHECK(calls_of(family) == during);
    REQUIRE(toggle(family, true) == 0);
    CHECK(call_all(1) == 0);
    REQUIRE(toggle(family, false) == 0);
    for (std::size_t i = 0; i < family.size(); ++i) {
      INFO(std::string(family[i].name));
      CHECK(during[i] > 0);
      CHECK(*family[i].calls > during[i]);
      CHECK(mapped_file_at(family[i].address).is_as_in_file());
    }
  }
  CHECK((mapped_files() == files_before));
  CHECK_FALSE(has_open_pages());
}
