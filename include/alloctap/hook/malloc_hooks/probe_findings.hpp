/// Result of the probe of an allocator's hooks, and its text for reports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/hook/hook_backend.hpp"

namespace alloctap {

/// The calls that the hooks report, each determined by a test call.
struct ProbeFindings {
  enum class Reallocation : std::uint8_t {
    /// Not reported, so a block that moved or grew keeps its old record.
    kUnseen,
    /// Reported as an allocation, then a free of the old block.
    kAsPair,
    /// Reported as a free before the allocation, so a block whose realloc fails loses its record.
    kFreedFirst,
    /// Reported as one reallocation, which may fail.
    kWhole,
  };

  bool malloc = false;
  bool calloc = false;
  bool aligned_alloc = false;
  bool posix_memalign = false;
  bool operator_new = false;
  bool operator_new_array = false;
  bool aligned_new = false;
  bool strdup = false;
  bool free = false;
  /// Reported sizes are the requested ones, not rounded up.
  bool exact_sizes = true;
  /// The program reports dlclose. (No allocator does.)
  bool modules = false;
  Reallocation reallocation = Reallocation::kUnseen;

  [[nodiscard]] bool every_allocation() const noexcept {
    return malloc && calloc && aligned_alloc && posix_memalign && operator_new &&
           operator_new_array && aligned_new && strdup && reallocation != Reallocation::kUnseen;
  }

  [[nodiscard]] HookCapabilities capabilities(std::string_view blind_spots) const noexcept {
    return {.target = HookTarget::kProcessAllocator,
            .owns_every_free = free && reallocation != Reallocation::kUnseen,
            .sees_later_modules = true,
            .sees_mappings = false,
            .misses_allocations = !every_allocation(),
            .blind_spots = blind_spots};
  }
};

/// Clause for reports that lists which calls the hooks do not report. Owns its text.
class BlindSpotText {
 public:
  /// `besides` is a clause with other blind spots, or empty.
  void write(const ProbeFindings& findings, std::string_view besides = {}) noexcept {
    using Reallocation = ProbeFindings::Reallocation;
    used_ = 0;
    add_where(findings.reallocation == Reallocation::kUnseen,
              "realloc (a block that it moved or resized stays recorded as it was)");
    add_where(findings.reallocation == Reallocation::kFreedFirst,
              "that a realloc failed (its block is no longer recorded)");
    add_where(!findings.calloc, "calloc");
    add_where(!findings.aligned_alloc, "aligned_alloc");
    add_where(!findings.posix_memalign, "posix_memalign");
    add_where(!findings.operator_new, "operator new");
    add_where(!findings.operator_new_array, "operator new[]");
    add_where(!findings.aligned_new, "aligned operator new");
    add_where(!findings.strdup, "strdup");
    add_where(!findings.free, "free");
    add_where(!findings.exact_sizes, "exact sizes of aligned blocks (they are rounded up)");
    add_where(!findings.every_allocation(), "frees of unknown blocks (not counted)");
    add_where(findings.reallocation != Reallocation::kWhole, "alignments");
    add_where(!besides.empty(), besides);
    add("whether a block is malloc's or operator new's");
    add("mmap and its relatives");
    add_where(!findings.modules, "dlclose");
    add("allocators that do not end in malloc");
  }

  [[nodiscard]] std::string_view text() const noexcept { return {text_, used_}; }

 private:
  static constexpr std::size_t kMaxCount = 640;

  void add_where(bool missing, std::string_view clause) noexcept {
    if (missing) add(clause);
  }

  void add(std::string_view clause) noexcept {
    if (used_ > 0) append(", ");
    append(clause);
  }

  void append(std::string_view text) noexcept {
    const std::size_t count = std::min(text.size(), kMaxCount - used_);
    std::copy_n(text.data(), count, text_ + used_);
    used_ += count;
  }

  char text_[kMaxCount] = {};
  std::size_t used_ = 0;
};

}  // namespace alloctap
