/// Looks up function names in a PE file: COFF symbols, which GNU linkers keep, and exports.
///
/// Source: "PE Format" (Microsoft), "COFF Symbol Table", "The .edata Section".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/pe/mapped_image.hpp"

namespace alloctap::pe {

/// A symbolizer for a PE file on disk. The file's bytes must outlive this object. Finds the
/// function's first byte in .pdata and the symbol of that byte, because the nearest lower symbol
/// may be another function's. Control plane.
class FunctionNames {
 public:
  explicit FunctionNames(std::span<const std::byte> file) noexcept : file_(file) {
    const auto headers = find_headers(file);
    if (!headers) return;
    headers_ = *headers;
    sections_ = headers_ + 24 + number<std::uint16_t>(headers_ + 20);
    section_count_ = number<std::uint16_t>(headers_ + 6);
    symbols_ = number<std::uint32_t>(headers_ + 12);
    if (symbols_ != 0) symbol_count_ = number<std::uint32_t>(headers_ + 16);
  }

  /// Returns the mangled name of the function that contains `pc`, an offset in the mapped module.
  /// The name is empty if unknown.
  [[nodiscard]] std::string_view find(std::uint32_t pc) const noexcept {
    const auto begin = find_begin(pc);
    if (!begin) return {};
    const std::string_view name = find_symbol(*begin);
    return name.empty() ? find_export(*begin) : name;
  }

 private:
  static constexpr std::size_t kSectionBytes = 40;
  static constexpr std::size_t kSymbolBytes = 18;
  static constexpr std::size_t kEntryBytes = 12;

  /// Returns the number at file offset `place`, or 0 if `place` is out of bounds.
  template <class Number>
  [[nodiscard]] Number number(std::size_t place) const noexcept {
    return read_number<Number>(file_, place).value_or(0);
  }

  [[nodiscard]] std::string_view text(std::size_t place, std::size_t most) const noexcept {
    // Place 0, which `place_of` returns for what is not in the file, has the DOS header.
    if (place == 0 || place >= file_.size()) return {};
    const std::string_view rest(reinterpret_cast<const char*>(file_.data()) + place,
                                std::min(most, file_.size() - place));
    return rest.substr(0, rest.find('\0'));
  }

  /// Returns the file offset of the byte at `offset` in the module, or 0 if not in the file.
  [[nodiscard]] std::size_t place_of(std::uint32_t offset) const noexcept {
    for (std::size_t i = 0; i < section_count_; ++i) {
      const std::size_t section = sections_ + i * kSectionBytes;
      const auto start = number<std::uint32_t>(section + 12);
      if (offset < start || offset - start >= number<std::uint32_t>(section + 16)) continue;
      return std::size_t{number<std::uint32_t>(section + 20)} + (offset - start);
    }
    return 0;
  }

  /// An entry of the data directory: the offset of a table and its size.
  struct Directory {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
  };
  [[nodiscard]] Directory directory(std::size_t index) const noexcept {
    const std::size_t place = headers_ + 24 + 112 + index * 8;
    return {number<std::uint32_t>(place), number<std::uint32_t>(place + 4)};
  }

  /// Returns the start of the function, or of the outlined part of a function, that contains `pc`.
  [[nodiscard]] std::optional<std::uint32_t> find_begin(std::uint32_t pc) const noexcept {
    constexpr std::size_t kExceptionDirectory = 3;
    const Directory entries = directory(kExceptionDirectory);
    const std::size_t table = place_of(entries.offset);
    if (headers_ == 0 || entries.bytes == 0 || table == 0) return std::nullopt;
    std::size_t low = 0;
    std::size_t high = entries.bytes / kEntryBytes;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const std::size_t entry = table + middle * kEntryBytes;
      const auto begin = number<std::uint32_t>(entry);
      if (pc < begin) {
        high = middle;
      } else if (pc >= number<std::uint32_t>(entry + 4)) {
        low = middle + 1;
      } else {
        return begin;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string_view find_symbol(std::uint32_t offset) const noexcept {
    constexpr std::uint16_t kFunction = 0x20;
    std::size_t symbol = symbols_;
    for (std::size_t i = 0; i < symbol_count_ && symbol + kSymbolBytes <= file_.size(); ++i) {
      const auto extra = number<std::uint8_t>(symbol + 17);
      const auto section = number<std::uint16_t>(symbol + 12);
      const bool is_function = number<std::uint16_t>(symbol + 14) == kFunction;
      if (is_function && section > 0 && section <= section_count_) {
        const std::size_t start = sections_ + (section - std::size_t{1}) * kSectionBytes + 12;
        const auto value = number<std::uint32_t>(symbol + 8);
        if (number<std::uint32_t>(start) + value == offset) return name_of_symbol(symbol);
      }
      i += extra;
      symbol += kSymbolBytes * (std::size_t{1} + extra);
    }
    return {};
  }

  /// Returns the name of a symbol. Names longer than 8 bytes are stored in the string table, which
  /// follows the symbol table.
  [[nodiscard]] std::string_view name_of_symbol(std::size_t symbol) const noexcept {
    if (number<std::uint32_t>(symbol) != 0) return text(symbol, 8);
    const std::size_t strings = symbols_ + symbol_count_ * kSymbolBytes;
    return text(strings + number<std::uint32_t>(symbol + 4), file_.size());
  }

  [[nodiscard]] std::string_view find_export(std::uint32_t offset) const noexcept {
    const Directory exports = directory(0);
    const std::size_t table = exports.bytes == 0 ? 0 : place_of(exports.offset);
    if (table == 0) return {};
    const std::size_t functions = place_of(number<std::uint32_t>(table + 28));
    const std::size_t names = place_of(number<std::uint32_t>(table + 32));
    const std::size_t numbers = place_of(number<std::uint32_t>(table + 36));
    const std::size_t count = std::min<std::size_t>(number<std::uint32_t>(table + 24), 0x10000);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = number<std::uint16_t>(numbers + i * 2);
      if (number<std::uint32_t>(functions + index * 4) != offset) continue;
      return text(place_of(number<std::uint32_t>(names + i * 4)), file_.size());
    }
    return {};
  }

  std::span<const std::byte> file_;
  std::size_t headers_ = 0;
  std::size_t sections_ = 0;
  std::size_t section_count_ = 0;
  std::size_t symbols_ = 0;
  std::size_t symbol_count_ = 0;
};

}  // namespace alloctap::pe
