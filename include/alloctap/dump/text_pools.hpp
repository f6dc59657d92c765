/// Pools in the text report.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/printable_text.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_frames.hpp"
#include "alloctap/record/pool_summary.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Writer of a line for each pool, most live bytes first, with the stacks that hold most of the
/// pool's bytes. Writes nothing without pools. The snapshot must outlive this object.
class TextPools {
 public:
  explicit TextPools(const PoolsSummary& pools) noexcept : pools_(pools) {
    for (const PoolSummary& pool : pools.pools) complete_ = order_.push_back(&pool) && complete_;
    std::sort(order_.begin(), order_.end(), [](const PoolSummary* a, const PoolSummary* b) {
      if (a->live_bytes != b->live_bytes) return a->live_bytes > b->live_bytes;
      if (a->allocated_bytes != b->allocated_bytes) return a->allocated_bytes > b->allocated_bytes;
      return a < b;
    });
  }

  /// Calls `visit(StackId)` for each stack that is shown.
  template <class Visit>
  void for_each_shown(Visit&& visit) const {
    for (std::size_t i = 0; i < shown(); ++i) {
      for_each_stack(*order_[i], [&](const PoolStackSummary& held) { visit(held.stack); });
    }
  }

  /// Writes the list. `write_owner(StackId)` writes a line with a stack's tag and thread, if known.
  template <class WriteOwner>
  void write(const Report& report, const FrameList& frames, WriteOwner&& write_owner,
             DumpWriter& out) const {
    if (!complete_) return out.fail("text: the system has no memory for pools");
    if (order_.empty()) return;
    out << "\nPools, most live bytes first; their blocks lie in memory that is counted elsewhere\n";
    for (std::size_t i = 0; i < shown(); ++i) {
      write_pool(*order_[i], out);
      for_each_stack(*order_[i], [&](const PoolStackSummary& held) {
        out << "    " << human_bytes(held.live_bytes) << " in "
            << counted(held.live_allocations, "block") << "; in all "
            << with_commas(held.allocations) << " of " << human_bytes(held.allocated_bytes) << "\n";
        write_owner(held.stack);
        write_text_frames(report, held.stack, frames, out);
      });
    }
    if (shown() < order_.size()) {
      out << "  and " << with_commas(order_.size() - shown()) << " more\n";
    }
    write_faults(out);
  }

 private:
  static constexpr std::size_t kMaxPools = 20;
  static constexpr std::size_t kMaxStacks = 3;

  [[nodiscard]] std::size_t shown() const noexcept { return std::min(kMaxPools, order_.size()); }

  /// Visits the pool's stacks with most live bytes, in descending order.
  template <class Visit>
  void for_each_stack(const PoolSummary& pool, Visit&& visit) const {
    const PoolStackSummary* last = nullptr;
    for (std::size_t i = 0; i < kMaxStacks; ++i) {
      const PoolStackSummary* most = nullptr;
      for (const PoolStackSummary& held : pools_.stacks_of(pool)) {
        if (held.live_allocations == 0 || (last != nullptr && !holds_more(*last, held))) continue;
        if (most == nullptr || holds_more(held, *most)) most = &held;
      }
      if (most == nullptr) return;
      visit(*most);
      last = most;
    }
  }

  static bool holds_more(const PoolStackSummary& a, const PoolStackSummary& b) noexcept {
    return a.live_bytes != b.live_bytes ? a.live_bytes > b.live_bytes : a.stack < b.stack;
  }

  static void write_pool(const PoolSummary& pool, DumpWriter& out) {
    out << "  " << PrintableText(pool.name.empty() ? "(no name)" : pool.name)
        << (pool.destroyed ? " (destroyed)" : "") << ": " << human_bytes(pool.live_bytes) << " in "
        << counted(pool.live_allocations, "block") << ", peak " << human_bytes(pool.peak_live_bytes)
        << "; in all " << with_commas(pool.allocations) << " of "
        << human_bytes(pool.allocated_bytes) << ", " << with_commas(pool.deallocations())
        << " freed";
    if (pool.overhead_bytes > 0) out << "; overhead " << human_bytes(pool.overhead_bytes);
    out << "\n";
  }

  void write_faults(DumpWriter& out) const {
    const auto write_fault = [&out](std::uint64_t number, std::string_view what) {
      if (number > 0) out << "  " << what << ": " << with_commas(number) << "\n";
    };
    write_fault(pools_.unknown_frees.value_or(0), "frees of blocks that no pool has");
    write_fault(pools_.wrong_pool_frees, "frees of blocks that another pool has, and keeps");
    write_fault(pools_.announced_twice, "blocks announced while they were live");
    write_fault(pools_.unknown_pools, "calls for pools that were destroyed, or never created");
    write_fault(pools_.dropped, "events lost because the system had no memory");
    write_fault(pools_.refused_pools, "pools left out because there were too many");
  }

  const PoolsSummary& pools_;
  ArenaArray<const PoolSummary*> order_;
  bool complete_ = true;
};

}  // namespace alloctap
