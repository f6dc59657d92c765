#include "alloctap/stack/cached_frame_chain.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "alloctap/stack/chain_walk.hpp"
#include "tests/unit/stack/chain_of_words.hpp"

using namespace alloctap;
using alloctap::testing::ChainOfWords;

constexpr std::size_t kChained = 8;

TEST_CASE("frames are kept from the outermost inwards, each with the hash of the stack up to it") {
  ChainOfWords kept(3);
  CHECK(kept.chain.size() == 3);
  StackHash hash;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(kept.chain.pc(i) == 0x1000 + i);
    CHECK(kept.chain.sp(i) == 0x9000 - 16 * i);
    CHECK(kept.chain.is(i, ChainOfWords::frame(i)));
    hash = hash.with(0x1000 + i);
    CHECK(kept.chain.hash(i) == hash);
  }
  kept.chain.cut_to(1);
  kept.push(2, true);
  CHECK(kept.chain.size() == 2);
  CHECK(kept.chain.hash(1) == StackHash{}.with(0x1000).with(0x1002));
}

TEST_CASE("a frame is another one if its address, its stack pointer or its frame pointer is") {
  const ChainOfWords kept(2);
  UnwindFrame frame = ChainOfWords::frame(1);
  frame.pc += 1;
  CHECK_FALSE(kept.chain.is(1, frame));
  frame = ChainOfWords::frame(1);
  frame.sp += 8;
  CHECK_FALSE(kept.chain.is(1, frame));
  frame = ChainOfWords::frame(1);
  frame.fp += 8;
  CHECK_FALSE(kept.chain.is(1, frame));
}

TEST_CASE("where the frame pointer does not matter, neither it nor its word is looked at") {
  ChainOfWords kept(1);
  kept.push(1, false);
  kept.push(2, true);
  UnwindFrame frame = ChainOfWords::frame(1);
  frame.fp += 8;
  CHECK(kept.chain.is(1, frame));
  kept.words[3] = 1;
  CHECK(kept.chain.find_changed(0, 3) == 3);
  kept.words[2] = 1;
  CHECK(kept.chain.find_changed(0, 3) == 1);
}

TEST_CASE("the innermost frame with a changed word is found, in every range") {
  ChainOfWords kept(kChained);
  CHECK(kept.chain.find_changed(0, kChained) == kChained);
  for (std::size_t changed = 0; changed < 2 * kChained; ++changed) {
    kept.words[changed] = 1;
    for (std::size_t first = 0; first <= kChained; ++first) {
      for (std::size_t end = first; end <= kChained; ++end) {
        const bool inside = changed / 2 >= first && changed / 2 < end;
        CHECK(kept.chain.find_changed(first, end) == (inside ? changed / 2 : end));
      }
    }
    for (std::size_t outer = 0; outer < changed; ++outer) {
      kept.words[outer] = 1;
      CHECK(kept.chain.find_changed(0, kChained) == changed / 2);
      kept.words[outer] = 0;
    }
    kept.words[changed] = 0;
  }
}

TEST_CASE("a chain that is full forgets its outer half") {
  ChainOfWords kept(0);
  kept.begin_at(ChainEnd::kOutermost, 2);
  for (std::size_t i = 0; i < kChained; ++i) kept.push(i, true);
  CHECK(kept.chain.end_is_sure());
  const StackHash whole = kept.chain.hash(kChained - 1);
  kept.push(kChained, true);
  CHECK(kept.chain.size() == kChained / 2 + 1);
  CHECK(kept.chain.end() == ChainEnd::kCut);
  CHECK_FALSE(kept.chain.end_is_sure());
  for (std::size_t i = 0; i < kept.chain.size(); ++i) {
    CHECK(kept.chain.is(i, ChainOfWords::frame(i + kChained / 2)));
  }
  CHECK(kept.chain.hash(kChained / 2) == whole.with(0x1000 + kChained));
  for (std::size_t word = kChained; word < 2 * (kChained + 1); ++word) {
    kept.words[word] = 1;
    CHECK(kept.chain.find_changed(0, kept.chain.size()) == word / 2 - kChained / 2);
    kept.words[word] = 0;
  }
  kept.words[kChained - 1] = 1;
  kept.end_words[0] = 1;
  CHECK(kept.chain.find_changed(0, kept.chain.size()) == kept.chain.size());
  CHECK(kept.chain.words().size() == 2 * kept.chain.size());
}

TEST_CASE("the words of the end are looked at from the outermost frame on, after all others") {
  for (std::size_t count = 0; count <= kMaxWordsOfFrame; ++count) {
    ChainOfWords kept(2);
    kept.begin_at(ChainEnd::kOutermost, count);
    CHECK(kept.chain.size() == 0);
    for (std::size_t i = 0; i < kChained; ++i) kept.push(i, true);
    CHECK(kept.chain.words().size() == count + 2 * kChained);
    CHECK(kept.chain.find_changed(0, kChained) == kChained);
    for (std::size_t word = 0; word < count; ++word) {
      kept.end_words[word] = 1;
      CHECK(kept.chain.find_changed(0, 0) == CachedFrameChain::kEnd);
      CHECK(kept.chain.find_changed(0, kChained) == CachedFrameChain::kEnd);
      CHECK(kept.chain.find_changed(1, kChained) == kChained);
      kept.words[0] = 1;
      CHECK(kept.chain.find_changed(0, kChained) == 0);
      kept.words[0] = 0;
      kept.end_words[word] = 0;
    }
    kept.chain.cut_to(0);
    kept.push(1, true);
    CHECK(kept.chain.words().size() == count + 2);
  }
}

namespace {

/// What a chain of `kChained` frames is to hold, kept in the most obvious way.
struct ObviousChain {
  struct Kept {
    NotedFrame noted;
    bool matters = false;
    StackHash hash;
  };

  void push_walked(const std::vector<NotedFrame>& leaf_first, FramePointerUse use) {
    bool matters = false;
    for (auto noted = leaf_first.rbegin(); noted != leaf_first.rend(); ++noted) {
      if (use != FramePointerUse::kPassedOn) matters = use == FramePointerUse::kUsed;
      use = noted->step.use;
      if (frames.size() == kChained) frames.erase(frames.begin(), frames.begin() + kChained / 2);
      const StackHash outer = frames.empty() ? StackHash{} : frames.back().hash;
      frames.push_back({*noted, matters, outer.with(noted->frame.pc)});
    }
  }

  [[nodiscard]] std::vector<std::uintptr_t> words() const {
    std::vector<std::uintptr_t> all;
    for (const auto& [noted, matters, hash] : frames) {
      const bool drop = noted.step.last_word_is_frame_pointer && !matters;
      for (std::size_t i = 0; i < noted.step.word_count - (drop ? 1U : 0U); ++i) {
        all.insert(all.end(), {noted.words[i].address, noted.words[i].value});
      }
    }
    return all;
  }

  std::vector<Kept> frames;
};

std::vector<NotedFrame> make_walk(std::minstd_rand& random) {
  std::vector<NotedFrame> leaf_first(1 + random() % (2 * kChained));
  for (NotedFrame& noted : leaf_first) {
    noted.frame = {.pc = random(), .sp = random(), .fp = random()};
    for (StackWord& word : noted.words) word = {.address = random(), .value = random()};
    noted.step.word_count = static_cast<std::uint8_t>(random() % (kMaxWordsOfFrame + 1));
    noted.step.last_word_is_frame_pointer = noted.step.word_count > 0 && random() % 2 == 0;
    noted.step.use = static_cast<FramePointerUse>(random() % 3);
  }
  return leaf_first;
}

void check_same(const CachedFrameChain& chain, const ObviousChain& expected) {
  REQUIRE(chain.size() == expected.frames.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    CHECK(chain.is(i, expected.frames[i].noted.frame));
    CHECK(chain.pointer_matters(i) == expected.frames[i].matters);
    CHECK(chain.hash(i) == expected.frames[i].hash);
  }
  std::vector<std::uintptr_t> words;
  for (const StackWord& word : chain.words()) {
    words.insert(words.end(), {word.address, word.value});
  }
  CHECK(words == expected.words());
  std::vector<std::uintptr_t> innermost(chain.size() / 2);
  chain.copy_innermost(innermost);
  for (std::size_t i = 0; i < innermost.size(); ++i) {
    CHECK(innermost[i] == chain.pc(chain.size() - 1 - i));
  }
}

}  // namespace

TEST_CASE("what walks find is kept with its words, however much of it there is") {
  std::minstd_rand random(9);
  for (int round = 0; round < 200; ++round) {
    ChainOfWords kept(0, kChained);
    ObviousChain expected;
    for (int walk = 0; walk < 8; ++walk) {
      const std::size_t outer = random() % (expected.frames.size() + 1);
      kept.chain.cut_to(outer);
      expected.frames.resize(outer);
      const std::vector<NotedFrame> walked = make_walk(random);
      const auto use = static_cast<FramePointerUse>(random() % 3);
      kept.chain.push_walked(walked, use);
      expected.push_walked(walked, use);
      check_same(kept.chain, expected);
    }
  }
}

TEST_CASE("walked frames begin with the leaf and are added in the place of the next") {
  UnwindBuffer walked;
  REQUIRE(walked.reserve(4));
  CHECK(walked.capacity() == 4);
  walked.restart({.pc = 1, .sp = 2, .fp = 3});
  CHECK(walked.size() == 1);
  CHECK(walked.last().step.word_count == 0);
  walked.next().frame.pc = 4;
  CHECK(walked.last().frame.pc == 1);
  walked.add();
  CHECK(walked.size() == 2);
  CHECK(walked.last().frame.pc == 4);
  CHECK(walked[0].frame.pc == 1);
  walked.release();
  CHECK(walked.capacity() == 0);
}
