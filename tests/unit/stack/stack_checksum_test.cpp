#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/stack/stack_cache.hpp"

namespace {

using alloctap::StackWord;
using Fingerprint = alloctap::StackChecksum<24>;

/// Grows downwards, as stacks do: the last word of a list is the lowest.
std::array<std::uintptr_t, 64> watched{};

std::uintptr_t address_of(std::size_t i) { return reinterpret_cast<std::uintptr_t>(&watched[i]); }

std::vector<StackWord> words_at(const std::vector<std::size_t>& places) {
  std::vector<StackWord> words;
  for (const std::size_t i : places)
    words.push_back({.address = address_of(i), .value = watched[i]});
  return words;
}

Fingerprint fingerprint_of(const std::vector<std::size_t>& places) {
  const std::vector<StackWord> words = words_at(places);
  Fingerprint taken;
  REQUIRE(taken.take(words, address_of(0)));
  return taken;
}

/// Every word that was taken is looked at, all bits that addresses have, and no other.
void check_all_are_seen(const std::vector<std::size_t>& places) {
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i] = 1000 + i;
  const Fingerprint taken = fingerprint_of(places);
  CHECK(taken.matches(address_of(0)));
  for (std::size_t i = 0; i < watched.size(); ++i) {
    CAPTURE(i);
    const bool is_taken = std::find(places.begin(), places.end(), i) != places.end();
    for (const int bit : {0, 3, 12, 31, 32, 46}) {
      watched[i] ^= std::uintptr_t{1} << bit;
      CHECK(taken.matches(address_of(0)) == !is_taken);
      watched[i] ^= std::uintptr_t{1} << bit;
    }
  }
  CHECK(taken.matches(address_of(0)));
}

}  // namespace

TEST_CASE("no words are always what they were") {
  CHECK(Fingerprint{}.matches(address_of(0)));
  CHECK(fingerprint_of({}).matches(address_of(0)));
}

TEST_CASE("a changed word is seen, wherever it is") {
  check_all_are_seen({0});
  check_all_are_seen({5});
  check_all_are_seen({6, 5});
  check_all_are_seen({40, 20, 10});
  check_all_are_seen({60, 59, 50, 41, 40, 31, 30, 20, 11, 10, 3, 4, 1});
}

TEST_CASE("a changed word is seen among any number that there is room for") {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 24; ++i) {
    places.insert(places.begin(), 2 * i + 1);
    CAPTURE(places.size());
    check_all_are_seen(places);
  }
}

TEST_CASE("words that have changed places are seen, and all of them changed at once") {
  const std::vector<std::size_t> places{30, 28, 26, 24, 22, 20, 18, 16, 14};
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i] = 1000 + i;
  const Fingerprint taken = fingerprint_of(places);
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a + 1; b < places.size(); ++b) {
      CAPTURE(a);
      CAPTURE(b);
      std::swap(watched[places[a]], watched[places[b]]);
      CHECK_FALSE(taken.matches(address_of(0)));
      std::swap(watched[places[a]], watched[places[b]]);
    }
  }
  for (const std::size_t i : places) watched[i] += 64;
  CHECK_FALSE(taken.matches(address_of(0)));
}

TEST_CASE("taking again forgets what was taken") {
  watched.fill(1);
  Fingerprint taken = fingerprint_of({19, 17, 15, 13, 11, 9, 7, 5, 2, 1});
  REQUIRE(taken.take(words_at({20}), address_of(0)));
  watched[1] = watched[5] = 2;
  CHECK(taken.matches(address_of(0)));
  watched[20] = 2;
  CHECK_FALSE(taken.matches(address_of(0)));
}

TEST_CASE("words that are too many, too far apart or inside of the frame are refused") {
  Fingerprint taken;
  CHECK(taken.take(std::vector<StackWord>(24, words_at({0})[0]), address_of(0)));
  CHECK_FALSE(taken.take(std::vector<StackWord>(25, words_at({0})[0]), address_of(0)));
  CHECK_FALSE(taken.take(words_at({0}), address_of(1)));
  constexpr std::size_t kFurthest = 65535;
  std::vector<std::uintptr_t> stack(kFurthest + 2, 7);
  const auto sp = reinterpret_cast<std::uintptr_t>(stack.data());
  const auto word = [&](std::size_t i) {
    return StackWord{.address = sp + i * sizeof(std::uintptr_t), .value = 7};
  };
  CHECK_FALSE(Fingerprint::reaches(word(kFurthest + 1), sp));
  CHECK(Fingerprint::reaches(word(kFurthest), sp));
  for (const std::size_t nearer : {std::size_t{0}, std::size_t{12}}) {
    std::vector<StackWord> words{word(kFurthest + 1)};
    for (std::size_t i = nearer; i > 0; --i) words.push_back(word(i));
    CHECK_FALSE(taken.take(words, sp));
    words.front() = word(kFurthest);
    REQUIRE(taken.take(words, sp));
    CHECK(taken.matches(sp));
    stack[kFurthest] = 8;
    CHECK_FALSE(taken.matches(sp));
    stack[kFurthest] = 7;
  }
}
