/// A container with its books, and totals of one thread: for tests of what is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/record/block_tracker.hpp"

namespace alloctap::testing {

/// Each `Test` has totals of its own; one object lives at a time.
template <class Meta, class Test>
class CountedContainer {
 public:
  struct Totals {
    static ThreadStats* mine() noexcept { return mine_; }
    static Meta& meta() noexcept { return *meta_; }
    static inline ThreadStats* mine_ = nullptr;
    static inline Meta* meta_ = nullptr;
  };
  using Books = BlockTracker<Meta, Totals>;

  CountedContainer() {
    books_.join(totals_);
    Totals::mine_ = &totals_;
    Totals::meta_ = &meta_;
  }
  ~CountedContainer() { Totals::mine_ = nullptr; }
  CountedContainer(const CountedContainer&) = delete;
  CountedContainer& operator=(const CountedContainer&) = delete;

  /// From now on the system has no memory for the totals.
  void lose_totals() { Totals::mine_ = nullptr; }

  Books* operator->() { return &books_; }
  Meta& meta() { return meta_; }
  ThreadStats& totals() { return totals_; }

  [[nodiscard]] EventCounters counters() const {
    EventCounters counters = totals_.counters();
    counters.dropped += books_.dropped_without_totals();
    return counters;
  }

  [[nodiscard]] std::size_t live_blocks() {
    std::size_t blocks = 0;
    meta_.for_each_live([&](const void*, const BlockRecord&) { ++blocks; });
    return blocks;
  }

 private:
  Meta meta_;
  Books books_;
  ThreadStats totals_;
};

}  // namespace alloctap::testing
