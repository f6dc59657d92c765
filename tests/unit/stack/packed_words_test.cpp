#include "alloctap/stack/packed_words.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace {

using alloctap::StackWord;
using Words = alloctap::PackedWords<24>;

std::array<std::uintptr_t, 64> watched{};

StackWord word_at(std::size_t i) {
  return {.address = reinterpret_cast<std::uintptr_t>(&watched[i]), .value = watched[i]};
}

std::vector<StackWord> words_at(const std::vector<std::size_t>& places) {
  std::vector<StackWord> words;
  for (const std::size_t i : places) words.push_back(word_at(i));
  return words;
}

/// Every word that was packed is looked at, every bit of it, and no other.
void check_all_are_seen(const std::vector<std::size_t>& places, std::size_t frames) {
  for (std::size_t i = 0; i < watched.size(); ++i) watched[i] = 1000 + i;
  Words packed;
  packed.pack(words_at(places), frames);
  CHECK(packed.unchanged());
  for (std::size_t i = 0; i < watched.size(); ++i) {
    CAPTURE(i);
    const bool is_packed = std::find(places.begin(), places.end(), i) != places.end();
    for (const int bit : {0, 31, 32, 63}) {
      watched[i] ^= std::uintptr_t{1} << bit;
      CHECK(packed.unchanged() == !is_packed);
      watched[i] ^= std::uintptr_t{1} << bit;
    }
  }
  CHECK(packed.unchanged());
}

/// Whether neighbours are looked for, as among many words of few frames, or not.
void check_all_are_seen(const std::vector<std::size_t>& places) {
  check_all_are_seen(places, 0);
  check_all_are_seen(places, places.size());
}

}  // namespace

TEST_CASE("of no words, none has changed") { CHECK(Words{}.unchanged()); }

TEST_CASE("a changed word is seen, whether it has neighbours or not") {
  check_all_are_seen({5});
  check_all_are_seen({5, 6});
  check_all_are_seen({6, 5});
  check_all_are_seen({5, 6, 7});
  check_all_are_seen({40, 20, 10});
  check_all_are_seen({60, 59, 50, 41, 40, 31, 30, 20, 11, 10, 3, 4, 1});
}

TEST_CASE("a changed word is seen among as many as there is room for") {
  std::vector<std::size_t> neighbours;
  std::vector<std::size_t> apart;
  for (std::size_t i = 0; i < 24; ++i) neighbours.push_back(30 - i);
  for (std::size_t i = 0; i < 24; ++i) apart.push_back(50 - 2 * i);
  check_all_are_seen(neighbours);
  check_all_are_seen(apart);
}

TEST_CASE("packing again forgets what was packed") {
  for (std::uintptr_t& word : watched) word = 1;
  Words packed;
  packed.pack(words_at({1, 2, 5, 9}), 2);
  packed.pack(words_at({20}), 1);
  watched[1] = watched[5] = 2;
  CHECK(packed.unchanged());
  watched[20] = 2;
  CHECK_FALSE(packed.unchanged());
}
