/// The bodies of snapshot/reach/frozen_scan.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/snapshot/reach/frozen_scan.hpp"

namespace alloctap {

ALLOCTAP_INLINE FrozenScan::State FrozenScan::run() noexcept {
  if (!read_blocks() || !index_.build(blocks())) return State::kNoMemory;
  bool described = true;
  const bool has_memory =
      read_regions(described) && leave_out_own() && add_programs() && add_modules();
  if (!described) return State::kNoMemoryMap;
  if (!has_memory) return State::kNoMemory;
  leave_tracker();
  layout_.threads = order_.threads;
  layout_.blocks = blocks();
  layout_.all_blocks_known = order_.all_blocks_known;
  layout_.all_threads_seen = order_.all_threads_seen;
  ScanRoots roots(layout_);
  EndedThreads ended(layout_, memory_);
  if (!memory_.prepare() || !ended.leave_out() || !leave_out_lists() || !roots.find() ||
      !marks_.prepare()) {
    return State::kNoMemory;
  }
  mark(roots);
  order_.results->unread_bytes = order_.unread_bytes + memory_.unread_bytes();
  add_up();
  return State::kDone;
}

ALLOCTAP_INLINE std::span<const ScannedBlock> FrozenScan::blocks() const noexcept {
  return {blocks_.data(), blocks_.size()};
}

ALLOCTAP_INLINE bool FrozenScan::read_blocks() noexcept {
  std::size_t count = 0;
  data_.for_each_live([&](const void*, const BlockRecord&) { ++count; });
  if (!blocks_.reserve(count + 1)) return false;
  bool complete = true;
  data_.for_each_live([&](const void* pointer, const BlockRecord& record) {
    const ScannedBlock block{.start = reinterpret_cast<std::uintptr_t>(pointer),
                             .size = record.size,
                             .stack = record.stack};
    complete = blocks_.push_back(block) && complete;
  });
  const auto lower = [](const ScannedBlock& a, const ScannedBlock& b) { return a.start < b.start; };
  if (!std::is_sorted(blocks_.begin(), blocks_.end(), lower)) {
    std::sort(blocks_.begin(), blocks_.end(), lower);
  }
  return complete;
}

ALLOCTAP_INLINE bool FrozenScan::read_regions(bool& described) noexcept {
  constexpr std::size_t kMoreRegions = 64;
  ArenaArray<char> buffer;
  if (!buffer.reserve(kMapBytes)) return false;
  const std::span<char> map(buffer.data(), kMapBytes);
  std::size_t count = 0;
  described = os::visit_nameless_memory_map(map, [&](const auto&) { return ++count != 0; });
  if (!layout_.regions.reserve(count + kMoreRegions) || !leave_out_arena()) return false;
  bool complete = true;
  const auto add = [&](const os::MemoryRegion& region) {
    complete = layout_.regions.size() < count + kMoreRegions &&
               layout_.regions.push_back(ScanRegion::of(region));
    return complete;
  };
  described = described && os::visit_nameless_memory_map(map, add);
  return complete;
}

ALLOCTAP_INLINE bool FrozenScan::add_programs() noexcept {
  bool complete = true;
  data_.mappings.for_each([&](const MappingRecord& mapping) {
    complete = layout_.programs.add({mapping.start, mapping.start + mapping.length}) && complete;
  });
  for (const AddressRange block : order_.earlier_blocks) {
    complete = layout_.programs.add(block) && complete;
  }
  layout_.programs.settle();
  return complete;
}

ALLOCTAP_INLINE bool FrozenScan::add_modules() noexcept {
  for (const Module& module : order_.modules) {
    if (!layout_.modules.add({module.start, module.end})) return false;
    ask_file({module.start, module.end});
  }
  layout_.modules.settle();
  return true;
}

ALLOCTAP_INLINE void FrozenScan::ask_file(AddressRange module) noexcept {
  const ScanRegion* const first = layout_.find_region(module.start);
  if (first == nullptr || !first->readable || first->anonymous) return;
  const std::size_t bytes = std::min(first->range.end, module.end) - module.start;
  const std::span file(reinterpret_cast<const std::byte*>(module.start), bytes);
  for (ScanRegion& region : layout_.regions) {
    const AddressRange range = region.range;
    if (region.writable || range.start < module.start || range.end > module.end) continue;
    region.for_writing =
        native::has_written_section(file, range.start - module.start, range.end - module.start);
  }
}

ALLOCTAP_INLINE void FrozenScan::leave_tracker() noexcept {
  ProgramFrames frames(order_.tracker_code, order_.c_library_code);
  for (os::ThreadRegisters& thread : order_.threads) {
    if (!thread.seen) continue;
    const ThreadSlot* const slot = slot_of(thread);
    const bool awaits_report = slot != nullptr && slot->awaits_report.load();
    frames.leave_tracker(thread, awaits_report || &thread == order_.threads.data());
  }
}

ALLOCTAP_INLINE bool FrozenScan::leave_out_own() noexcept {
  bool complete = true;
  const auto leave_out = [&](AddressRange range) {
    complete = layout_.left_out.add(range) && complete;
  };
  for (const AddressRange range : order_.own_memory) leave_out(range);
  return complete && leave_out_arena();
}

ALLOCTAP_INLINE bool FrozenScan::leave_out_arena() noexcept {
  bool complete = true;
  ArenaRegions::for_each([&](const ArenaRegions::Region& region) {
    complete = layout_.left_out.add({region.start, region.end}) && complete;
  });
  return complete;
}

ALLOCTAP_INLINE bool FrozenScan::leave_out_lists() noexcept {
  bool complete = true;
  const auto leave_out = [&](AddressRange data) {
    memory_.visit_pieces(data, [&](std::uintptr_t at, Words words) {
      complete = layout_.left_out.add(find_allocator_lists(words, at)) && complete;
    });
  };
  for (const ScanRegion& region : layout_.regions) {
    if (!region.writable || region.shared) continue;
    layout_.modules.for_each_inside(region.range, leave_out);
    const std::uintptr_t start = region.range.start;
    const bool may_be_arena = region.anonymous && start % kArenaAlignment == 0;
    if (may_be_arena) leave_out({start, std::min(start + kArenaHead, region.range.end)});
  }
  layout_.left_out.settle();
  return complete;
}

ALLOCTAP_INLINE void FrozenScan::mark(const ScanRoots& roots) noexcept {
  roots.for_each([this](AddressRange root) { add_root(root); });
  marks_.add_root_words(order_.kept_pointers);
  for (const os::ThreadRegisters& thread : order_.threads) {
    if (thread.seen) marks_.add_root_words({thread.values.data(), thread.count});
  }
  data_.threads.for_each([this](const ThreadStats& stats, const ThreadState& state) {
    if (stats.moved.bytes > 0) add_moved(stats.moved, state.thread_id.load());
  });
  marks_.spread();
  marks_.part_unreachable();
}

ALLOCTAP_INLINE void FrozenScan::add_root(AddressRange root) noexcept {
  memory_.visit_root(root, [this](Words words) { marks_.add_root_words(words); });
}

ALLOCTAP_INLINE void FrozenScan::add_moved(const MovedBlock& moved, os::ThreadId id) noexcept {
  const auto threads = order_.threads;
  const auto thread = std::find_if(threads.begin(), threads.end(),
                                   [id](const auto& candidate) { return candidate.id == id; });
  const bool seen = thread != threads.end() && thread->seen;
  if (seen && !is_inside_hook(*thread)) return;
  if (const ScanRegion* const region = layout_.find_region(moved.start)) {
    const AddressRange around = layout_.between_blocks(region->range, moved.start);
    add_root({moved.start, moved.start + std::min(moved.bytes, around.end - moved.start)});
  }
  if (!seen || moved.bytes == MovedBlock::kNotKnownYet) return;
  for (const std::uintptr_t word : Words(thread->values.data(), thread->count)) {
    add_moved_to(word, moved.bytes);
  }
  const ScanRegion* const stack = layout_.find_region(thread->stack_pointer);
  if (stack == nullptr) return;
  constexpr std::size_t kDeepestHook = 64 * 1024;
  const std::uintptr_t end = std::min(stack->range.end, thread->stack_pointer + kDeepestHook);
  memory_.visit_words({thread->stack_pointer, end}, [&](Words words) {
    for (const std::uintptr_t word : words) add_moved_to(word, moved.bytes);
  });
}

ALLOCTAP_INLINE void FrozenScan::add_moved_to(std::uintptr_t word, std::size_t bytes) noexcept {
  const ScanRegion* const region = layout_.find_region(word);
  const bool may_be_block = region != nullptr && region->readable && region->anonymous &&
                            !region->main_stack && index_.find(word) == BlockIndex::kNone &&
                            layout_.holds_blocks(region->range);
  if (may_be_block) add_root({word, std::min(region->range.end, word + bytes)});
}

ALLOCTAP_INLINE bool FrozenScan::is_inside_hook(const os::ThreadRegisters& thread) const noexcept {
  const ThreadSlot* const slot = slot_of(thread);
  return slot == nullptr || slot->depth.load(std::memory_order_relaxed) > 0;
}

ALLOCTAP_INLINE const ThreadSlot* FrozenScan::slot_of(
    const os::ThreadRegisters& thread) const noexcept {
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(&this_thread_slot()) - os::thread_storage();
  const std::uintptr_t slot = thread.thread_storage + offset;
  const ScanRegion* const region = layout_.find_region(slot);
  const bool is_readable = region != nullptr && region->readable;
  return is_readable ? reinterpret_cast<const ThreadSlot*>(slot) : nullptr;
}

ALLOCTAP_INLINE void FrozenScan::add_up() noexcept {
  UnreachableSum* const sums = order_.results->by_stack();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const ScannedBlock& block = blocks_[i];
    UnreachableSum& sum = sums[block.stack < order_.results->stacks ? block.stack : kUnknownStack];
    if (marks_.of(i) == BlockMark::kDefinite) {
      ++sum.definite_allocations;
      sum.definite_bytes += block.size;
    } else if (marks_.of(i) == BlockMark::kIndirect) {
      ++sum.indirect_allocations;
      sum.indirect_bytes += block.size;
    }
  }
}

}  // namespace alloctap
