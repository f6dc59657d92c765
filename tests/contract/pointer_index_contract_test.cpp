// Every index is a map from addresses to records.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "alloctap/meta/aged_index.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/shadow_index.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::InsertOutcome;
using alloctap::kNoStackId;
using alloctap::StackId;

using Aged = alloctap::AgedIndex<alloctap::ShadowIndex>;
using Wide = alloctap::BasicShadowIndex<32>;
using Model = std::map<const void*, BlockRecord>;

bool same(const BlockRecord& a, const BlockRecord& b) {
  return a.stack == b.stack && a.size == b.size;
}

/// Near and far addresses, aligned as an allocator's and not, and up to the end of the 64 bits.
const void* random_pointer(std::mt19937_64& random) {
  constexpr std::uintptr_t kBases[] = {0x10000, 0x7F12'3450'0000, 0x7FFF'FFFF'0000,
                                       0xFFFF'8000'0000'0000};
  const std::uintptr_t offset = (random() % 512) * 16 + (random() % 8 == 0 ? 1 + random() % 15 : 0);
  return reinterpret_cast<const void*>(kBases[random() % 4] + offset);
}

std::uint64_t random_size(std::mt19937_64& random) {
  constexpr std::uint64_t kSizes[] = {0,         1, 48, 0xFFFF'FFFE, 0xFFFF'FFFF, 0x1'0000'0000,
                                      1ULL << 45};
  return kSizes[random() % 7];
}

BlockRecord model_take(Model& model, const void* pointer) {
  const auto place = model.find(pointer);
  if (place == model.end()) return {};
  const BlockRecord record = place->second;
  model.erase(place);
  return record;
}

template <class Index>
Model contents(Index& index) {
  Model model;
  index.for_each([&](const void* pointer, const BlockRecord& record) {
    CHECK(model.emplace(pointer, record).second);
  });
  return model;
}

bool equal(const Model& a, const Model& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && same(x.second, y.second);
         });
}

}  // namespace

TEST_CASE_TEMPLATE("any order of inserting and taking gives what a map gives", Index,
                   alloctap::FlatHashIndex, alloctap::ShadowIndex, Wide,
                   alloctap::SpacedShadowIndex, Aged) {
  const auto index = std::make_unique<Index>();
  Model model;
  std::mt19937_64 random(7);
  for (int step = 0; step < 60'000; ++step) {
    const void* pointer = random_pointer(random);
    if (random() % 2 == 0) {
      const BlockRecord record{.stack = static_cast<StackId>(1 + random() % 0xFFFF'FFFF),
                               .size = random_size(random)};
      const InsertOutcome outcome = index->insert(pointer, record);
      CHECK(outcome.kept);
      CHECK(same(outcome.replaced, model_take(model, pointer)));
      model[pointer] = record;
    } else {
      CHECK(same(index->take(pointer), model_take(model, pointer)));
    }
    if (step % 20'000 == 0) CHECK(equal(contents(*index), model));
  }
  CHECK(equal(contents(*index), model));
}

TEST_CASE_TEMPLATE("nothing is at an address that was never used", Index, alloctap::FlatHashIndex,
                   alloctap::ShadowIndex, Wide, alloctap::SpacedShadowIndex, Aged) {
  const auto index = std::make_unique<Index>();
  int local = 0;
  CHECK(index->take(nullptr).stack == kNoStackId);
  CHECK(index->take(&local).stack == kNoStackId);
  CHECK(contents(*index).empty());
}

TEST_CASE_TEMPLATE("threads that insert neighbours and take each other's find each exactly once",
                   Index, alloctap::FlatHashIndex, alloctap::ShadowIndex, Wide,
                   alloctap::SpacedShadowIndex, Aged) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kBlocks = 40'000;
  const auto index = std::make_unique<Index>();
  constexpr std::size_t kApart = std::is_same_v<Index, Wide> ? 32 : 16;
  const auto pointer = [](std::size_t i) {
    return reinterpret_cast<void*>(0x7000'0010 + i * kApart);
  };
  std::vector<std::atomic<bool>> inserted(kBlocks);
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < kBlocks; i += kThreads) {
        index->insert(pointer(i), {.stack = static_cast<StackId>(i + 1), .size = i % 17});
        inserted[i].store(true, std::memory_order_release);
        // What the next thread inserts, as soon as it is there.
        const std::size_t other = i / kThreads * kThreads + (t + 1) % kThreads;
        while (!inserted[other].load(std::memory_order_acquire)) std::this_thread::yield();
        const BlockRecord record = index->take(pointer(other));
        CHECK(record.stack == other + 1);
        CHECK(record.size == other % 17);
        ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == kBlocks);
  CHECK(contents(*index).empty());
}
