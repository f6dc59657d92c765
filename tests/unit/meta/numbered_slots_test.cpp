#include "alloctap/meta/numbered_slots.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "alloctap/event/stack_identity.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::NumberedSlots;
using alloctap::StackHash;
using alloctap::testing::StarvedArena;

/// What the slots lead to: entry `i` was inserted with `hashes[i]`; 0 is nobody's.
class HashedEntries {
 public:
  std::uint32_t add(std::uint64_t hash) {
    hashes_.push_back(hash);
    const auto number = static_cast<std::uint32_t>(hashes_.size() - 1);
    if (hashes_.size() * 2 > slots_.capacity()) {
      REQUIRE(slots_.restart_with(slots_.capacity() * 2));
      for (std::uint32_t i = 1; i < number; ++i) slots_.insert(hashes_[i], i);
    }
    slots_.insert(hash, number);
    return number;
  }

  std::uint32_t find(std::uint64_t hash) {
    return slots_.find(hash, [&](std::uint32_t number) {
      ++asked_;
      return number != 0 && hashes_[number] == hash;
    });
  }

  void forget(std::uint32_t number) { hashes_[number] = 0; }

  int asked() const { return asked_; }
  NumberedSlots& slots() { return slots_; }

 private:
  std::vector<std::uint64_t> hashes_{0};
  NumberedSlots slots_;
  int asked_ = 0;
};

/// Of all bits, so that hashes meet in the slots as often as any.
std::uint64_t spread(std::uint64_t i) { return StackHash{}.with(i * i).with(i).first; }

void grow_large(HashedEntries& entries) {
  for (std::uint64_t i = 1; entries.slots().capacity() < NumberedSlots::kLargeCapacity; ++i) {
    entries.add(spread(i));
  }
}

}  // namespace

TEST_CASE("slots lead to what was inserted, and to nothing else, however many there are") {
  HashedEntries entries;
  for (std::uint64_t i = 1; i <= 30'000; ++i) {
    REQUIRE(entries.find(spread(i)) == 0);
    const std::uint32_t number = entries.add(spread(i));
    REQUIRE(entries.find(spread(i)) == number);
  }
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 1; i <= 30'000; ++i) REQUIRE(entries.find(spread(i)) == i);
  }
}

TEST_CASE("few entries are asked about but the wanted one") {
  HashedEntries entries;
  for (std::uint64_t i = 1; i <= 5000; ++i) entries.add(spread(i));
  for (std::uint64_t i = 1; i <= 5000; ++i) static_cast<void>(entries.find(spread(i)));
  CHECK(entries.asked() < 5100);
}

TEST_CASE("hashes that agree in all that a slot knows are told apart, in a large table too") {
  for (const bool large : {false, true}) {
    HashedEntries entries;
    if (large) grow_large(entries);
    // The upper half is the tag, the lowest bits are the place.
    const std::uint64_t one = 0x1234'5678'0100'0007;
    const std::uint64_t other = 0x1234'5678'0200'0007;
    const std::uint32_t first = entries.add(one);
    const std::uint32_t second = entries.add(other);
    for (int round = 0; round < 3; ++round) {
      CHECK(entries.find(one) == first);
      CHECK(entries.find(one) == first);
      CHECK(entries.find(other) == second);
      CHECK(entries.find(0x1234'5678'0300'0007) == 0);
    }
  }
}

TEST_CASE("a hash whose place and tag are zero is nobody's before it was inserted") {
  HashedEntries entries;
  grow_large(entries);
  CHECK(entries.find(0x0100'0000) == 0);
  const std::uint32_t number = entries.add(0x0100'0000);
  CHECK(entries.find(0x0100'0000) == number);
}

TEST_CASE("an entry that is no longer wanted is not found again, though it was lately") {
  HashedEntries entries;
  grow_large(entries);
  REQUIRE(entries.find(spread(7)) == 7);
  entries.forget(7);
  CHECK(entries.find(spread(7)) == 0);
  const std::uint32_t anew = entries.add(spread(7));
  CHECK(entries.find(spread(7)) == anew);
}

TEST_CASE("what was found lately is found without a search") {
  HashedEntries entries;
  grow_large(entries);
  REQUIRE(entries.find(spread(3)) == 3);
  // Elsewhere from now on, for who searches.
  REQUIRE(entries.slots().restart_with(2 * NumberedSlots::kLargeCapacity));
  CHECK(entries.find(spread(3)) == 3);
  CHECK(entries.find(spread(4)) == 0);
}

TEST_CASE("without memory slots do not grow and keep what they have") {
  HashedEntries entries;
  for (std::uint64_t i = 1; i <= 10; ++i) entries.add(spread(i));
  const std::size_t before = entries.slots().capacity();
  {
    const StarvedArena starved;
    CHECK_FALSE(entries.slots().restart_with(2 * before));
  }
  CHECK(entries.slots().capacity() == before);
  for (std::uint64_t i = 1; i <= 10; ++i) CHECK(entries.find(spread(i)) == i);
}
