// A chain over words that a test can change.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/stack/cached_frame_chain.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap::testing {

/// Frame i was found by words 2 i and 2 i + 1, the second of which told the frame pointer.
struct ChainOfWords {
  explicit ChainOfWords(std::size_t frames, std::size_t capacity = 8) {
    REQUIRE(chain.reserve(capacity));
    for (std::size_t i = 0; i < frames; ++i) push(i, true);
  }
  ~ChainOfWords() { chain.release(); }
  ChainOfWords(const ChainOfWords&) = delete;
  ChainOfWords& operator=(const ChainOfWords&) = delete;

  void push(std::size_t i, bool pointer_matters) {
    NotedFrame noted;
    noted.frame = frame(i);
    for (std::size_t word = 0; word < 2; ++word) {
      std::uintptr_t& place = words[2 * i + word];
      noted.words[word] = {.address = reinterpret_cast<std::uintptr_t>(&place), .value = place};
    }
    noted.step.word_count = 2;
    noted.step.last_word_is_frame_pointer = true;
    chain.push(noted, pointer_matters);
  }

  /// Forgets the frames; the first `count` of `end_words` told this end.
  void begin_at(ChainEnd end, std::size_t count) {
    std::array<StackWord, kMaxWordsOfFrame> told;
    for (std::size_t i = 0; i < count; ++i) {
      told[i] = {.address = reinterpret_cast<std::uintptr_t>(&end_words[i]), .value = end_words[i]};
    }
    chain.begin_at(end, std::span(told).first(count));
  }

  static UnwindFrame frame(std::size_t i) {
    return {.pc = 0x1000 + i, .sp = 0x9000 - 16 * i, .fp = 0x7000 + i};
  }

  std::array<std::uintptr_t, 64> words{};
  std::array<std::uintptr_t, kMaxWordsOfFrame> end_words{};
  CachedFrameChain chain;
};

}  // namespace alloctap::testing
