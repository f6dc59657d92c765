/// Definitions for check/guarded_blocks.hpp.
#pragma once

#include <mutex>

#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

ALLOCTAP_INLINE GuardedPool::Run GuardedPool::take(std::size_t pages, Number number,
                                                   const Limits& limits) noexcept {
  const std::lock_guard hold(lock_);
  if (!is_made()) make(limits);
  if (pages_ == nullptr || live_ >= most_live()) return {};
  const std::size_t wanted = pages + kGuards;
  const std::size_t size_class = class_of(wanted);
  if (size_class >= kClasses) return {};
  const std::size_t first = take_pages(size_class);
  if (first == kNoPage) return {};
  Run run{.begin = at(first),
          .pages = pages_[first].length,
          .before = pages_[first].owner.load(std::memory_order_relaxed)};
  for (std::size_t i = first; i < first + pages_[first].length; ++i) {
    run.has_open_pages |= pages_[i].is_open;
    pages_[i].first = static_cast<std::uint32_t>(first);
    pages_[i].owner.store(number, std::memory_order_release);
  }
  ++live_;
  return run;
}

ALLOCTAP_INLINE void GuardedPool::give_back(const void* address) noexcept {
  const std::lock_guard hold(lock_);
  const std::size_t first = pages_[page_of(address)].first;
  Queue& queue = free_[class_of(pages_[first].length)];
  pages_[first].next = kNoPage;
  (queue.newest == kNoPage ? queue.oldest : pages_[queue.newest].next) =
      static_cast<std::uint32_t>(first);
  queue.newest = static_cast<std::uint32_t>(first);
  ++queue.size;
  --live_;
}

ALLOCTAP_INLINE std::array<GuardedPool::Number, 2> GuardedPool::neighbours(
    const void* address) const noexcept {
  const std::size_t page = page_of(address);
  const bool is_used = pages_[page].owner.load(std::memory_order_acquire) != kNone;
  const std::size_t first = is_used ? pages_[page].first.load() : page;
  const std::size_t behind = is_used ? first + pages_[first].length : page + 1;
  return {owner_of(first - 1), owner_of(behind)};
}

ALLOCTAP_INLINE bool GuardedPool::close_open_pages(const Run& run) noexcept {
  if (!run.has_open_pages) return true;
  if (!space_.close(run.begin, run.pages * page_bytes_)) return false;
  const std::size_t first = page_of(run.begin);
  for (std::size_t i = first; i < first + run.pages; ++i) pages_[i].is_open = false;
  return true;
}

ALLOCTAP_INLINE bool GuardedPool::open_page(const void* address) noexcept {
  const std::size_t page = page_of(address);
  pages_[page].is_open = true;
  return space_.open(at(page), page_bytes_);
}

ALLOCTAP_INLINE std::size_t GuardedPool::take_pages(std::size_t size_class) noexcept {
  const std::size_t length = pages_in(size_class);
  Fresh& fresh = size_class <= kExact ? small_ : large_;
  const bool has_enough = free_[size_class].size > most_waiting_;
  if (!has_enough && fresh.end - fresh.next >= length) {
    const std::size_t first = fresh.next;
    fresh.next += length;
    prepare(fresh);
    pages_[first].length = static_cast<std::uint32_t>(length);
    return first;
  }
  for (std::size_t i = size_class; i < kClasses; ++i) {
    if (free_[i].size > 0) return pop(free_[i]);
  }
  return kNoPage;
}

ALLOCTAP_INLINE void GuardedPool::prepare(Fresh& fresh) noexcept {
  if (fresh.next <= fresh.prepared) return;
  const std::size_t begin = fresh.prepared;
  fresh.prepared = std::min(std::max(fresh.next, begin + kPreparedBytes / page_bytes_), fresh.end);
  space_.prepare(at(begin), (fresh.prepared - begin) * page_bytes_);
}

ALLOCTAP_INLINE std::size_t GuardedPool::pop(Queue& queue) noexcept {
  const std::uint32_t first = queue.oldest;
  queue.oldest = pages_[first].next;
  if (queue.oldest == kNoPage) queue.newest = kNoPage;
  --queue.size;
  return first;
}

ALLOCTAP_INLINE void GuardedPool::make(const Limits& limits) noexcept {
  is_made_ = true;
  page_bytes_ = os::page_size();
  std::size_t bytes = limits.bytes / page_bytes_ * page_bytes_;
  while (bytes >= kLeastBytes && !space_.reserve(bytes)) {
    bytes = bytes / 2 / page_bytes_ * page_bytes_;
  }
  if (space_.begin() == nullptr) return;
  const std::size_t count = bytes / page_bytes_;
  void* const table = Arena::allocate_pages(count * sizeof(Page));
  if (table == nullptr) return space_.unreserve();
  pages_ = static_cast<Page*>(table);
  limits_ = limits;
  most_waiting_ = limits.runs / 4;
  small_ = {.next = 1, .end = count / 4, .prepared = 1};
  large_ = {.next = count / 4, .end = count, .prepared = count / 4};
  // Excludes the pool from the roots of the leak scan, because the scan visits live blocks itself.
  ArenaRegions::add(space_.begin(), bytes);
  begin_.store(address_of(space_.begin()), std::memory_order_relaxed);
  bytes_.store(bytes, std::memory_order_release);
}

ALLOCTAP_INLINE GuardPageStats
GuardedBlocks::account(const CheckSettings& settings) const noexcept {
  return {.one_in = settings.guard_pages,
          .placed = placed_.load(std::memory_order_relaxed),
          .fell_back = fell_back_.load(std::memory_order_relaxed),
          .passed_over = budget_.refused()};
}

ALLOCTAP_INLINE BlockPlan GuardedBlocks::place(const CheckSettings& settings,
                                               const AllocationRequest& wanted, BlockPool& records,
                                               std::uint32_t hint) noexcept {
  const bool is_wanted =
      is_placeable(wanted) && budget_.take(settings.guard_pages, os::coarse_monotonic_ns());
  if (!is_wanted) return {};
  const BlockPlan plan = try_place(settings, wanted, records, hint);
  (plan.place != nullptr ? placed_ : fell_back_).fetch_add(1, std::memory_order_relaxed);
  return plan;
}

ALLOCTAP_INLINE void* GuardedBlocks::adopt(const CheckSettings& settings, CheckedBlock& block,
                                           const AllocationRequest& wanted,
                                           const BlockCall& call) noexcept {
  block.kind = wanted.kind;
  block.set_alignment(wanted.alignment);
  block.heap = wanted.heap;
  block.allocated = call;
  block.gone = {};
  block.pages.store(PageChange::kNone, std::memory_order_relaxed);
  BlockLayout::write_guards(settings, block);
  if (!wanted.has_content) BlockLayout::fill_new(settings, block.begin(), block.size);
  block.state.store(CheckedBlock::State::kLive, std::memory_order_release);
  return block.begin();
}

ALLOCTAP_INLINE void GuardedBlocks::retire(const CheckedBlock& block) noexcept {
  if (!take_back(block)) return;
  // If the system refuses, the freed pages stay accessible. The run is queued for reuse anyway.
  const std::size_t bytes = open_bytes(block);
  if (bytes > 0) static_cast<void>(pool_.close(first_page(block), bytes));
  pool_.give_back(first_page(block));
}

ALLOCTAP_INLINE GuardedBlocks::Number GuardedBlocks::at(const void* address,
                                                        BlockPool& records) noexcept {
  const Number number = pool_.owner(address);
  const bool is_begin = number != kNone && records[number].begin() == address;
  return is_begin ? number : kNone;
}

ALLOCTAP_INLINE GuardedBlocks::Number GuardedBlocks::nearest(const void* address,
                                                             BlockPool& records) noexcept {
  const auto [before, behind] = pool_.neighbours(address);
  Number found = kNone;
  std::uint64_t least = UINT64_MAX;
  for (const Number number : {pool_.owner(address), before, behind}) {
    if (number == kNone) continue;
    const std::uint64_t distant = distance(address, records[number]);
    if (distant >= least) continue;
    found = number;
    least = distant;
  }
  return found;
}

ALLOCTAP_INLINE GuardedPool::Limits GuardedBlocks::limits(const CheckSettings& settings) noexcept {
  const bool is_sampled = settings.guard_pages > 1;
  const os::AddressLimits system = os::address_limits();
  // Each accessible run needs two mappings: its pages, and the inaccessible pages behind them. As
  // many runs as a quarter of the limit therefore use half of all mappings.
  const std::size_t ranges = system.ranges / 4;
  const std::size_t runs = is_sampled ? 1024 : 1 << 17;
  return {.bytes = std::min((is_sampled ? 256 : 8192) * kMegabyte, system.bytes / 4),
          .runs = runs,
          .split_runs = std::min(runs, ranges)};
}

ALLOCTAP_INLINE bool GuardedBlocks::is_placeable(const AllocationRequest& wanted) noexcept {
  const bool names_alignment =
      wanted.alignment != 0 || wanted.kind == AllocationKind::kAlignedAlloc ||
      wanted.kind == AllocationKind::kAlignedNew || wanted.kind == AllocationKind::kAlignedNewArray;
  const bool is_sound = !names_alignment || (std::has_single_bit(wanted.alignment) &&
                                             wanted.alignment >= sizeof(void*));
  return is_sound && wanted.size <= kLargest && wanted.alignment <= kLargest;
}

ALLOCTAP_INLINE BlockPlan GuardedBlocks::try_place(const CheckSettings& settings,
                                                   const AllocationRequest& wanted,
                                                   BlockPool& records,
                                                   std::uint32_t hint) noexcept {
  const Number number = records.take(hint);
  if (number == kNone) return {};
  const std::size_t page = os::page_size();
  const std::size_t alignment = std::max(kGranule, wanted.alignment);
  const std::size_t pages = (wanted.size + page - 1) / page;
  const std::size_t slack = alignment > page ? alignment / page : 0;
  const GuardedPool::Run run = pool_.take(pages + slack, number, limits_of(settings));
  if (run.begin == nullptr) {
    records.give_back(number, hint);
    return {};
  }
  if (run.before != kNone) records.give_back(run.before, hint);
  CheckedBlock& block = records[number];
  lay_out(block, wanted.size, alignment, run.begin, is_left(settings.guard_edge));
  const bool is_clean = pool_.close_open_pages(run);
  const std::size_t bytes = open_bytes(block);
  if (!is_clean || (bytes > 0 && !pool_.open(first_page(block), bytes))) {
    // The freed run refers to the record until the run is reused.
    block.allocated = {};
    block.gone = {};
    block.pages.store(PageChange::kNone, std::memory_order_relaxed);
    block.state.store(CheckedBlock::State::kFreed, std::memory_order_release);
    pool_.give_back(run.begin);
    return {};
  }
  return {.bytes = wanted.size, .number = number, .place = block.begin()};
}

ALLOCTAP_INLINE void GuardedBlocks::lay_out(CheckedBlock& block, std::size_t size,
                                            std::size_t alignment, std::byte* pages,
                                            bool at_left) noexcept {
  const std::size_t page = os::page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(pages);
  const std::uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
  const std::size_t open = (size + page - 1) / page * page;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  const bool is_wide = at_left || alignment >= page;
  const std::size_t front = is_wide ? 0 : open - rounded;
  block.guarded = true;
  block.front = 0;
  block.front_guard = static_cast<std::uint32_t>(std::min(front, kFront));
  block.rear_guard =
      static_cast<std::uint32_t>(is_wide ? std::min(open - size, kFront) : rounded - size);
  block.size = size;
  block.set_begin(pages + (aligned - begin) + front);
}

ALLOCTAP_INLINE bool GuardedBlocks::take_back(const CheckedBlock& block) noexcept {
  const PageChange change = block.pages.load(std::memory_order_relaxed);
  if (change == PageChange::kNone) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(first_page(block));
  return change == PageChange::kProtected &&
         os::protect_pages(begin, open_bytes(block), {.readable = true, .writable = true}) &&
         os::may_write(begin, open_bytes(block));
}

ALLOCTAP_INLINE std::uint64_t GuardedBlocks::distance(const void* address,
                                                      const CheckedBlock& block) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(block.begin());
  if (at < begin) return begin - at;
  return at - begin < block.size ? 0 : at - begin - block.size + 1;
}

}  // namespace alloctap
