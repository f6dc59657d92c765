#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/sample/sampled_blocks.hpp"

namespace {

using alloctap::AddressFilter;

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

}  // namespace

TEST_CASE("what was added may be held until it is removed, and its neighbours are not") {
  const auto filter = std::make_unique<AddressFilter>();
  CHECK_FALSE(filter->may_hold(at(0x1000)));
  CHECK_FALSE(filter->may_hold(nullptr));
  filter->add(at(0x1000));
  CHECK(filter->may_hold(at(0x1000)));
  CHECK_FALSE(filter->may_hold(at(0x1400)));
  CHECK_FALSE(filter->may_hold(at(0xFFF)));
  filter->remove(at(0x1000));
  CHECK_FALSE(filter->may_hold(at(0x1000)));
}

TEST_CASE("addresses that share a place are told apart by nobody, and each counts") {
  const auto filter = std::make_unique<AddressFilter>();
  constexpr std::uintptr_t kPeriod = 0x1'0000'0000;
  filter->add(at(0x1000));
  filter->add(at(0x1000 + kPeriod));
  filter->remove(at(0x1000));
  CHECK(filter->may_hold(at(0x1000 + kPeriod)));
  filter->remove(at(0x1000 + kPeriod));
  CHECK_FALSE(filter->may_hold(at(0x1000)));
}

TEST_CASE("a place that more share than can be counted holds all of them for ever") {
  const auto filter = std::make_unique<AddressFilter>();
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) filter->add(at(0x1000));
  for (int i = 1; i < kMany; ++i) {
    filter->remove(at(0x1000));
    REQUIRE(filter->may_hold(at(0x1000)));
  }
}

TEST_CASE("threads that add and remove at once lose nothing") {
  const auto filter = std::make_unique<AddressFilter>();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&filter] {
      for (int round = 0; round < 20'000; ++round) {
        filter->add(at(0x2000));
        if (!filter->may_hold(at(0x2000))) filter->add(at(0x3000));
        filter->remove(at(0x2000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(filter->may_hold(at(0x2000)));
  CHECK_FALSE(filter->may_hold(at(0x3000)));
}
