/// A parser of import address tables, through whose words a PE module calls imported functions.
///
/// Source: "PE Format" (Microsoft), "The .idata Section", "Delay-Load Import Tables".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "alloctap/pe/mapped_image.hpp"

namespace alloctap::pe {

/// A word of an import address table.
struct ImportSlot {
  /// The slot's offset from the module's first byte.
  std::uint32_t offset = 0;
  /// The function's name, in the module's memory. nullptr if the function is imported by ordinal,
  /// or the table has no names.
  const char* name = nullptr;
  /// Whether the slot is bound on the first call. Until then, the slot points into this module.
  bool is_delayed = false;
};

/// An iterator over the import tables of a mapped module. Reads only inside `image`. Tables that
/// extend beyond `image` are cut off. Runs inside malloc.
class ImportTable {
 public:
  /// `image` is the readable part of the module, from its first byte.
  explicit ImportTable(std::span<const std::byte> image) noexcept
      : image_(image), headers_(find_headers(image)) {}

  /// Calls `visit(const ImportSlot&)` for each slot, table by table.
  template <class Visit>
  void for_each_slot(Visit&& visit) const noexcept {
    for_each_library(kImports, [&](std::size_t entry) {
      const std::uint32_t names = number(entry);
      visit_slots(number(entry + 16), names, false, visit);
    });
    for_each_library(kDelayedImports, [&](std::size_t entry) {
      constexpr std::uint32_t kHoldsOffsets = 1;
      // Skips tables of linkers before 2002, which wrote 32-bit addresses instead of offsets.
      if ((number(entry) & kHoldsOffsets) == 0) return;
      visit_slots(number(entry + 12), number(entry + 16), true, visit);
    });
  }

 private:
  /// A data directory of import descriptors.
  struct Directory {
    std::uint32_t number;
    std::size_t entry_bytes;
    /// Offset of the descriptor field that locates the slots. The field is 0 in the terminator.
    std::size_t slots;
  };
  static constexpr Directory kImports{1, 20, 16};
  static constexpr Directory kDelayedImports{13, 32, 12};
  static constexpr std::size_t kWord = sizeof(std::uint64_t);

  /// Returns the number at `offset`, or 0 if `offset` is out of bounds.
  [[nodiscard]] std::uint32_t number(std::size_t offset) const noexcept {
    return read_number<std::uint32_t>(image_, offset).value_or(0);
  }

  template <class Visit>
  void for_each_library(const Directory& directory, const Visit& visit) const noexcept {
    constexpr std::size_t kCount = 24 + 108;
    if (!headers_ || number(*headers_ + kCount) <= directory.number) return;
    const std::size_t first = number(*headers_ + kCount + 4 + std::size_t{directory.number} * 8);
    if (first == 0) return;
    for (std::size_t entry = first; number(entry + directory.slots) != 0;
         entry += directory.entry_bytes) {
      visit(entry);
    }
  }

  /// Visits as many slots as the name table has entries. Without a name table, stops at a slot with
  /// value 0.
  template <class Visit>
  void visit_slots(std::uint32_t slots, std::uint32_t names, bool is_delayed,
                   Visit& visit) const noexcept {
    const std::uint32_t counted = names != 0 ? names : slots;
    for (std::uint32_t at = 0;; at += kWord) {
      const auto entry = read_number<std::uint64_t>(image_, std::size_t{counted} + at);
      const bool inside =
          image_.size() >= kWord && slots + std::size_t{at} <= image_.size() - kWord;
      if (entry.value_or(0) == 0 || !inside) return;
      visit(ImportSlot{.offset = slots + at,
                       .name = names != 0 ? name_of(*entry) : nullptr,
                       .is_delayed = is_delayed});
    }
  }

  /// Returns the name of a table entry, or nullptr. The name follows a two-byte hint.
  [[nodiscard]] const char* name_of(std::uint64_t entry) const noexcept {
    constexpr std::uint64_t kIsNumber = std::uint64_t{1} << 63;
    const std::uint64_t place = entry + 2;
    if ((entry & kIsNumber) != 0 || place >= image_.size()) return nullptr;
    const auto* const name = reinterpret_cast<const char*>(image_.data() + place);
    const bool ends = std::memchr(name, '\0', image_.size() - place) != nullptr;
    return ends ? name : nullptr;
  }

  std::span<const std::byte> image_;
  std::optional<std::size_t> headers_;
};

}  // namespace alloctap::pe
