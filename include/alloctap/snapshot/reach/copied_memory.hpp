/// The memory of this process, for a scan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"

namespace alloctap {

/// A `MemoryImage` of this process. Reads private memory that it can access directly. Copies other
/// memory by system calls, which do not fault on unreadable pages. Not thread-safe.
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

  /// Returns the number of bytes that were to be visited but could not be read.
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
