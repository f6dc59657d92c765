/// Stacks that a C library keeps for threads to come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"

namespace alloctap {

/// Finds the stacks of threads that have ended: glibc keeps them for the next ones, with all that
/// lay on them and in the thread's variables, which nobody reads any more.
///
/// Such a stack begins behind a guard page and no thread is on it; and at its upper end stands what
/// glibc knows of it (nptl/descr.h, struct pthread), in three words: where its mapping begins, its
/// bytes, and those of the guard. All must fit. From that description on memory counts as before:
/// what the thread returned is there until somebody joins it, and so is what a thread that is about
/// to start is given. Of a thread that was joined only the beginning counts, where glibc keeps what
/// it uses again.
///
/// `Memory` reads pieces as `CopiedMemory` does. Not thread-safe.
template <class Memory>
class EndedThreads {
 public:
  /// Both outlive this.
  EndedThreads(ScanLayout& layout, Memory& memory) noexcept : layout_(layout), memory_(memory) {}

  /// Adds the stacks to what is left out. Precondition: what is the
  /// program's is settled. False where the
  /// system has no memory for it.
  [[nodiscard]] bool leave_out() noexcept {
    // Who was not seen has a stack that looks the same.
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
  /// Words of a description in front of the three, at most.
  static constexpr std::size_t kMaxBefore = 512;
  /// Of the thread's id, in a description that begins with its own address.
  static constexpr std::size_t kIdOffset = 720;
  /// Those of them that count where its begin is not known.
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

  /// Where it begins; the stack's own begin where there is none.
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

  /// It begins with its own address where the processor reads thread-local storage through it.
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

  /// Its id is -1 then. Known where the description begins with its own address.
  static bool was_joined(std::uintptr_t at, Words words, std::uintptr_t begin) noexcept {
    const std::size_t first = (begin - at) / kWord;
    const std::size_t id = first + kIdOffset / kWord;
    return words[first] == begin && id < words.size() &&
           static_cast<std::uint32_t>(words[id]) == 0xffffffff;
  }

  ScanLayout& layout_;
  Memory& memory_;
  /// What does not count behind the stack that was looked at last.
  AddressRange joined_;
};

}  // namespace alloctap
