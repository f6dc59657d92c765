/// The address space as a leak scan sees it, and a reader of its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"

namespace alloctap {

/// A sorted set of address ranges. Call `add` for all ranges, then `settle` once, then query.
/// Allocated in the arena. Not thread-safe.
class AddressRanges {
 public:
  /// Adds a range unless it is empty. Returns false if out of memory.
  [[nodiscard]] bool add(AddressRange range) noexcept {
    return range.empty() || ranges_.push_back(range);
  }

  /// Sorts the ranges, and merges those that overlap or touch.
  void settle() noexcept {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const AddressRange& a, const AddressRange& b) { return a.start < b.start; });
    std::size_t kept = 0;
    for (const AddressRange& range : ranges_) {
      if (kept > 0 && range.start <= ranges_[kept - 1].end) {
        ranges_[kept - 1].end = std::max(ranges_[kept - 1].end, range.end);
      } else {
        ranges_[kept++] = range;
      }
    }
    static_cast<void>(ranges_.resize(kept));
  }

  /// Calls `visit(AddressRange)` for each part of `range` that is in the set.
  template <class Visit>
  void for_each_inside(AddressRange range, Visit&& visit) const {
    for (const AddressRange* at = first_ending_behind(range.start);
         at != ranges_.end() && at->start < range.end; ++at) {
      visit(AddressRange{std::max(at->start, range.start), std::min(at->end, range.end)});
    }
  }

  /// Calls `visit(AddressRange)` for each part of `range` that is not in the set.
  template <class Visit>
  void for_each_outside(AddressRange range, Visit&& visit) const {
    std::uintptr_t start = range.start;
    for_each_inside(range, [&](AddressRange inside) {
      if (start < inside.start) visit(AddressRange{start, inside.start});
      start = inside.end;
    });
    if (start < range.end) visit(AddressRange{start, range.end});
  }

  [[nodiscard]] bool touches(AddressRange range) const noexcept {
    const AddressRange* at = first_ending_behind(range.start);
    return at != ranges_.end() && at->start < range.end;
  }

  [[nodiscard]] const AddressRange* begin() const noexcept { return ranges_.begin(); }
  [[nodiscard]] const AddressRange* end() const noexcept { return ranges_.end(); }

 private:
  [[nodiscard]] const AddressRange* first_ending_behind(std::uintptr_t address) const noexcept {
    return std::partition_point(
        ranges_.begin(), ranges_.end(),
        [address](const AddressRange& range) { return range.end <= address; });
  }

  ArenaArray<AddressRange> ranges_;
};

/// A mapped address range.
struct ScanRegion {
  AddressRange range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  /// Whether the mapping has no file.
  bool anonymous = false;
  /// Whether the mapping is private memory without access rights, which the program may make
  /// accessible again. False for large ranges, which only reserve address space.
  bool is_protected = false;
  bool main_stack = false;
  /// Whether the module's file declares the region writable; nullopt if unknown.
  std::optional<bool> for_writing = {};

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= range.start && address < range.end;
  }

  [[nodiscard]] static ScanRegion of(const os::MemoryRegion& region) noexcept {
    constexpr std::size_t kMaxProtected = std::size_t{1} << 30;
    const std::string_view path = region.path;
    const bool is_protected = os::kCopiesProtectedMemory && !region.readable && !region.shared &&
                              (path.empty() || path == "[heap]") &&
                              region.end - region.start <= kMaxProtected;
    return {.range = {region.start, region.end},
            .readable = region.readable && !path.starts_with("[v"),
            .writable = region.writable,
            .executable = region.executable,
            .shared = region.shared,
            .anonymous = path.empty() || path.front() == '[',
            .is_protected = is_protected,
            .main_stack = path == "[stack]"};
  }
};

/// The input of `ScanRoots`. Fill all members, then call `settle` for each set.
struct ScanLayout {
  /// All mapped regions in order of address.
  ArenaArray<ScanRegion> regions;
  AddressRanges modules;
  /// Memory known to be the program's: mapped by the program, or allocated before tracking began.
  AddressRanges programs;
  /// Memory that is excluded from the roots, regardless of its content.
  AddressRanges left_out;
  std::span<const os::ThreadRegisters> threads;
  std::span<const ScannedBlock> blocks;
  /// Whether all used blocks of allocators are known. If false, allocator memory outside known
  /// blocks may contain unrecorded blocks, so it is a root.
  bool all_blocks_known = true;

  /// Whether `threads` contains all threads of the process.
  bool all_threads_seen = true;

  /// Returns the region that contains `address`, or nullptr.
  [[nodiscard]] const ScanRegion* find_region(std::uintptr_t address) const noexcept {
    const auto* found = std::partition_point(
        regions.begin(), regions.end(),
        [address](const ScanRegion& region) { return region.range.end <= address; });
    return found != regions.end() && found->range.start <= address ? found : nullptr;
  }

  /// Returns the first block whose end is above `address`.
  [[nodiscard]] const ScannedBlock* first_block_behind(std::uintptr_t address) const noexcept {
    return std::partition_point(
        blocks.data(), blocks.data() + blocks.size(),
        [address](const ScannedBlock& block) { return block.end() <= address; });
  }

  /// Returns whether inaccessible memory directly precedes `region`, which is an element of
  /// `regions`.
  [[nodiscard]] bool is_behind_guard(const ScanRegion& region) const noexcept {
    if (&region == regions.begin()) return false;
    const ScanRegion& before = (&region)[-1];
    return before.range.end == region.range.start && !before.readable && !before.writable;
  }

  [[nodiscard]] bool holds_blocks(AddressRange range) const noexcept {
    const ScannedBlock* const block = first_block_behind(range.start);
    return block != blocks.data() + blocks.size() && block->start < range.end;
  }

  /// Returns the block-free part of `range` around `address`. Empty if a block contains `address`.
  [[nodiscard]] AddressRange between_blocks(AddressRange range,
                                            std::uintptr_t address) const noexcept {
    const ScannedBlock* const next = first_block_behind(address);
    if (next != blocks.data()) range.start = std::max(range.start, next[-1].end());
    if (next != blocks.data() + blocks.size()) range.end = std::min(range.end, next->start);
    return range.end > address ? range : AddressRange{address, address};
  }
};

/// A `MemoryImage` of this process. Reads accessible private anonymous memory directly. Copies
/// other memory by system calls, which do not fault on unreadable pages. Not thread-safe.
class CopiedMemory {
 public:
  using Words = std::span<const std::uintptr_t>;

  /// Stores a reference to `layout`.
  explicit CopiedMemory(const ScanLayout& layout) noexcept : layout_(layout) {}

  /// Allocates the copy buffer. Call it first. Returns false if out of memory.
  [[nodiscard]] bool prepare() noexcept { return buffer_.resize(kBufferWords); }

  /// Calls `visit` with the words of a block.
  template <class Visit>
  void visit_words(AddressRange range, Visit&& visit) noexcept {
    const AddressRange words = whole_words(range);
    for (std::uintptr_t at = words.start; at < words.end;) {
      const ScanRegion* const region = region_of(at);
      if (region == nullptr) return;
      const std::uintptr_t end = std::min(words.end, region->range.end);
      if (is_plain(*region)) {
        visit(Words(reinterpret_cast<const std::uintptr_t*>(at), (end - at) / kWord));
      } else if (region->readable || region->is_protected) {
        visit_copied({at, end}, [&visit](std::uintptr_t, Words copied) { visit(copied); });
      }
      at = end;
    }
  }

  /// Calls `visit` with the words in `range`, a range of roots. Skips pages that are not resident.
  template <class Visit>
  void visit_root(AddressRange range, Visit&& visit) noexcept {
    visit_pieces(range, [&visit](std::uintptr_t, Words words) { visit(words); });
  }

  /// Calls `visit` with the address and the words of each piece of `range`.
  template <class Visit>
  void visit_pieces(AddressRange range, Visit&& visit) noexcept {
    const AddressRange words = whole_words(range);
    const ScanRegion* const region = region_of(words.start);
    if (words.empty() || region == nullptr) return;
    if (os::kPrivateMemoryIsPlain && is_plain(*region)) {
      return visit(words.start, Words(reinterpret_cast<const std::uintptr_t*>(words.start),
                                      words.length() / kWord));
    }
    const bool is_small = words.length() < kManyBytes && !region->is_protected;
    if (!region->anonymous || region->shared || is_small) {
      return visit_copied(words, visit);
    }
    os::visit_present_pages(words.start, words.end, [&](std::uintptr_t start, std::uintptr_t end) {
      visit_copied({start, end}, visit);
    });
  }

  /// Returns the number of bytes in the visited ranges that could not be read.
  [[nodiscard]] std::uint64_t unread_bytes() const noexcept { return unread_bytes_; }

 private:
  static constexpr std::size_t kWord = sizeof(std::uintptr_t);
  static constexpr std::size_t kBufferWords = 16 * 1024;
  /// Minimum bytes for which a query of the resident pages is faster than reading all pages.
  static constexpr std::size_t kManyBytes = 1 << 20;

  static AddressRange whole_words(AddressRange range) noexcept {
    return {(range.start + kWord - 1) / kWord * kWord, range.end / kWord * kWord};
  }

  static bool is_plain(const ScanRegion& region) noexcept {
    return region.readable && region.anonymous && !region.shared;
  }

  /// Caches the last region, because consecutive blocks are mostly in one region.
  const ScanRegion* region_of(std::uintptr_t address) noexcept {
    const bool same =
        last_ != nullptr && address >= last_->range.start && address < last_->range.end;
    if (!same) last_ = layout_.find_region(address);
    return last_;
  }

  template <class Visit>
  void visit_copied(AddressRange words, Visit&& visit) noexcept {
    const std::size_t page = os::page_size();
    for (std::uintptr_t at = words.start; at < words.end;) {
      const std::size_t wanted = std::min(words.end - at, kBufferWords * kWord);
      const std::size_t copied =
          os::copy_memory(at, std::as_writable_bytes(std::span(buffer_.data(), wanted / kWord)));
      visit(at, Words(buffer_.data(), copied / kWord));
      at += copied / kWord * kWord;
      if (copied == wanted) continue;
      const std::uintptr_t next = std::min(words.end, (at / page + 1) * page);
      unread_bytes_ += next - at;
      at = next;
    }
  }

  const ScanLayout& layout_;
  const ScanRegion* last_ = nullptr;
  ArenaArray<std::uintptr_t> buffer_;
  std::uint64_t unread_bytes_ = 0;
};

}  // namespace alloctap
