#include "alloctap/os/thread_local.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "alloctap/os/windows/api.hpp"

namespace {

namespace os = alloctap::os;

struct Three {
  std::uint64_t first;
  std::uint32_t second;
  std::uint32_t third;
  void* fourth;
};
struct Late;
struct Beyond;

}  // namespace

TEST_CASE("each thread has its own, zero at first, in the system's block of the thread") {
  using Local = os::ThreadLocal<Three>;
  REQUIRE(Local::is_own());
  Local::mine() = {.first = 1, .second = 2, .third = 3, .fourth = nullptr};
  bool was_zero = false;
  std::thread([&] {
    Three& other = Local::mine();
    was_zero = other.first == 0 && other.second == 0 && other.third == 0;
    other.first = 9;
    const auto block = reinterpret_cast<std::uintptr_t>(::NtCurrentTeb());
    CHECK(reinterpret_cast<std::uintptr_t>(&other) - block < sizeof(TEB));
  }).join();
  CHECK(was_zero);
  CHECK(Local::mine().first == 1);
  CHECK(Local::mine().third == 3);
}

TEST_CASE("a thread that ran before the first use has its own as well") {
  using Local = os::ThreadLocal<std::uint64_t, Late>;
  std::atomic<int> step{0};
  std::uint64_t seen = 99;
  std::thread early([&] {
    step = 1;
    while (step != 2) std::this_thread::yield();
    seen = Local::mine();
  });
  while (step != 1) std::this_thread::yield();
  Local::mine() = 5;
  step = 2;
  early.join();
  CHECK(seen == 0);
  CHECK(Local::mine() == 5);
}

TEST_CASE("words are claimed as neighbours, and none where there are too few") {
  std::vector<DWORD> taken;
  const std::uint32_t pair = os::claim_thread_words(2);
  CHECK(pair >= os::kThreadWords);
  CHECK(pair % sizeof(void*) == 0);
  for (DWORD index = ::TlsAlloc(); index < TLS_MINIMUM_AVAILABLE; index = ::TlsAlloc()) {
    taken.push_back(index);
  }
  REQUIRE(taken.size() > 4);
  CHECK(os::claim_thread_words(1) == 0);
  // Every other one is no pair.
  for (std::size_t i = 0; i < taken.size(); i += 2) ::TlsFree(taken[i]);
  CHECK(os::claim_thread_words(2) == 0);
  using Local = os::ThreadLocal<std::array<void*, 2>, Beyond>;
  CHECK_FALSE(Local::is_own());
  Local::mine()[0] = &taken;
  for (std::size_t i = 1; i < taken.size(); i += 2) ::TlsFree(taken[i]);
  CHECK(os::claim_thread_words(2) != 0);
}
