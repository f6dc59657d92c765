/// Finds stacks of ended threads that glibc caches for new threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"

namespace alloctap {

/// Finds cached stacks of ended threads, which glibc reuses for new threads. They are excluded from
/// the roots, because their contents are stale.
///
/// A cached stack begins behind a guard page, and no thread runs on it. At its upper end lies the
/// thread descriptor (nptl/descr.h, struct pthread). Three words of the descriptor must match: the
/// begin of the mapping, its size, and the size of the guard. Memory from the descriptor on remains
/// a root. The descriptor holds the result of a thread that is not joined yet, or the argument of a
/// thread about to start. If the thread was joined, only the beginning of the descriptor remains a
/// root, because glibc reuses the descriptor.
///
/// `Memory` provides `visit_pieces` as `CopiedMemory` does. Not thread-safe.
template <class Memory>
class EndedThreads {
 public:
  /// Stores references to `layout` and `memory`.
  EndedThreads(ScanLayout& layout, Memory& memory) noexcept : layout_(layout), memory_(memory) {}

  /// Adds the stacks of ended threads to `left_out`. Precondition: `programs` is settled. Returns
  /// false if out of memory.
  [[nodiscard]] bool leave_out() noexcept {
    // Skips the search if a thread was not seen, because its stack would look like a cached one.
    if (!layout_.all_threads_seen) return true;
    bool complete = true;
    for (const ScanRegion& region : layout_.regions) {
      if (!may_be_stack(region)) continue;
      joined_ = {};
      const AddressRange stack{region.range.start, find_description(region.range)};
      const bool is_free = !layout_.holds_blocks(stack) && !layout_.programs.touches(stack);
      if (stack.empty() || !is_free) continue;
      complete = layout_.left_out.add(stack) && layout_.left_out.add(joined_) && complete;
    }
    return complete;
  }

 private:
  using Words = std::span<const std::uintptr_t>;

  static constexpr std::size_t kWord = sizeof(std::uintptr_t);
  /// Maximum number of words between the descriptor's begin and the three words that must match.
  static constexpr std::size_t kMaxBefore = 512;
  /// Offset of the thread id in a descriptor whose first word is its address.
  static constexpr std::size_t kIdOffset = 720;
  /// If the descriptor's begin is unknown, this many words before the three words remain a root.
  static constexpr std::size_t kLeastBefore = 16;

  [[nodiscard]] bool may_be_stack(const ScanRegion& region) const noexcept {
    const bool is_plain = region.readable && region.writable && region.anonymous &&
                          !region.shared && !region.main_stack;
    if (!is_plain || !layout_.is_behind_guard(region)) return false;
    return std::none_of(layout_.threads.begin(), layout_.threads.end(),
                        [&region](const os::ThreadRegisters& thread) {
                          return region.holds(thread.stack_pointer) ||
                                 region.holds(thread.thread_pointer);
                        });
  }

  /// Returns the address of the descriptor, or the begin of the stack if it has no descriptor.
  std::uintptr_t find_description(AddressRange stack) noexcept {
    std::uintptr_t found = stack.start;
    memory_.visit_pieces(stack, [&](std::uintptr_t at, Words words) {
      if (found == stack.start) found = find_description(stack, at, words);
    });
    return found;
  }

  std::uintptr_t find_description(AddressRange stack, std::uintptr_t at, Words words) noexcept {
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      const std::uintptr_t address = at + i * kWord;
      const std::uintptr_t mapping = words[i];
      const std::uintptr_t end = mapping + words[i + 1];
      const bool fits = mapping < stack.start && mapping + words[i + 2] == stack.start &&
                        end > address && end <= stack.end;
      if (!fits) continue;
      const std::uintptr_t begin = begin_of_description(at, words, i);
      if (was_joined(at, words, begin)) joined_ = {begin + kIdOffset, end};
      return begin;
    }
    return stack.start;
  }

  /// Returns the begin of the descriptor. If the thread pointer addresses the descriptor, its first
  /// and third word hold its own address. Otherwise assumes that the descriptor begins
  /// `kLeastBefore` words before the three words.
  static std::uintptr_t begin_of_description(std::uintptr_t at, Words words,
                                             std::size_t three) noexcept {
    const std::size_t most = std::min(three, kMaxBefore);
    for (std::size_t before = 0; before <= most; ++before) {
      const std::size_t i = three - before;
      const std::uintptr_t address = at + i * kWord;
      if (words[i] == address && words[i + 2] == address) return address;
    }
    return at + (three - std::min(three, kLeastBefore)) * kWord;
  }

  /// Returns whether the thread was joined, which sets its id to -1. Returns false if the first
  /// word of the descriptor is not the descriptor's address.
  static bool was_joined(std::uintptr_t at, Words words, std::uintptr_t begin) noexcept {
    const std::size_t first = (begin - at) / kWord;
    const std::size_t id = first + kIdOffset / kWord;
    return words[first] == begin && id < words.size() &&
           static_cast<std::uint32_t>(words[id]) == 0xffffffff;
  }

  ScanLayout& layout_;
  Memory& memory_;
  /// Range above the last found stack that is excluded because its thread was joined.
  AddressRange joined_;
};

}  // namespace alloctap
