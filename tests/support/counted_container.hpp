/// A container with its block tracker, and the stats of one thread: for tests of what is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/record/block_tracker.hpp"

namespace alloctap::testing {

/// Each `Test` has stats of its own; one object lives at a time.
template <class Meta, class Test>
class CountedContainer {
 public:
  struct Owner {
    static constexpr bool kKeepsPeak = false;
    static ThreadStats* mine() noexcept { return mine_; }
    static Meta& meta() noexcept { return *meta_; }
    static ThreadStatsTable& threads() noexcept { return *threads_; }
    static inline ThreadStats* mine_ = nullptr;
    static inline Meta* meta_ = nullptr;
    static inline ThreadStatsTable* threads_ = nullptr;
  };
  using Blocks = BlockTracker<Meta, Owner>;

  CountedContainer() {
    threads_.join(stats_);
    Owner::mine_ = &stats_;
    Owner::meta_ = &meta_;
    Owner::threads_ = &threads_;
  }
  ~CountedContainer() { Owner::mine_ = nullptr; }
  CountedContainer(const CountedContainer&) = delete;
  CountedContainer& operator=(const CountedContainer&) = delete;

  /// From now on the system has no memory for the stats.
  void lose_stats() { Owner::mine_ = nullptr; }

  Blocks* operator->() { return &blocks_; }
  Meta& meta() { return meta_; }
  ThreadStats& stats() { return stats_; }
  ThreadStatsTable& threads() { return threads_; }

  [[nodiscard]] EventCounters counters() const {
    EventCounters counters = stats_.counters();
    counters.dropped += threads_.dropped();
    return counters;
  }

  [[nodiscard]] std::size_t live_blocks() {
    std::size_t blocks = 0;
    meta_.for_each([&](const void*, const BlockRecord&) { ++blocks; });
    return blocks;
  }

 private:
  Meta meta_;
  Blocks blocks_;
  ThreadStats stats_;
  ThreadStatsTable threads_;
};

}  // namespace alloctap::testing
