/// What readelf says of a module's .eh_frame, row by row.
///
/// The format is that of binutils' display_debug_frames: an entry's line ("offset length id FDE
/// cie=offset pc=begin..end"), a line of column names, a line per row, an empty line.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/elf/call_frame.hpp"

namespace alloctap::testing {

/// One entry. Of an expression, only that it is one is known. Rows have no end.
struct ReadelfEntry {
  bool is_description = false;
  std::uintptr_t offset = 0;
  std::uintptr_t common_information = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::vector<elf::CallFrameRow> rows;
};

/// The next word of a line.
inline std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

inline std::uintptr_t hex_number(std::string_view text) {
  std::uintptr_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

/// By the names of x86-64 or of AArch64, which have but the return address in common.
inline std::optional<std::uint8_t> register_number(std::string_view name) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (name == "ra") return arch::DwarfRegisters::kReturnAddress;
  if (name == "rip") return 16;
  if (name == "sp") return 31;
  const auto place = std::find(kNames.begin(), kNames.end(), name);
  if (place != kNames.end()) return static_cast<std::uint8_t>(place - kNames.begin());
  if (!name.starts_with('x')) return std::nullopt;
  std::uint8_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return is_number ? std::optional(number) : std::nullopt;
}

/// "+16" or "-8".
inline std::int64_t signed_number(std::string_view text) {
  std::int64_t number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

inline elf::CfaRule parse_cfa(std::string_view cell) {
  if (cell == "exp") return {elf::CfaRule::Kind::kExpression, 0, 0, 0};
  const std::size_t sign = cell.find_first_of("+-");
  const auto number = register_number(cell.substr(0, sign));
  if (sign == cell.npos || !number) return {};
  return {elf::CfaRule::Kind::kRegisterPlusOffset, *number, 0, signed_number(cell.substr(sign))};
}

inline elf::RegisterRule parse_rule(std::string_view cell) {
  using Kind = elf::RegisterRule::Kind;
  if (cell == "u") return {Kind::kUndefined, 0, 0};
  if (cell == "s") return {Kind::kSameValue, 0, 0};
  if (cell == "exp") return {Kind::kAtExpression, 0, 0};
  if (cell == "vexp") return {Kind::kExpressionValue, 0, 0};
  if (cell.starts_with('c')) return {Kind::kAtCfaPlus, 0, signed_number(cell.substr(1))};
  if (cell.starts_with('v')) return {Kind::kCfaPlus, 0, signed_number(cell.substr(1))};
  // As in "r2 (rcx)".
  if (cell.starts_with('r')) return {Kind::kInRegister, 0, signed_number(cell.substr(1))};
  return {};
}

/// Reads readelf's output as it comes.
class ReadelfFrames {
 public:
  explicit ReadelfFrames(const std::string& path) {
    const std::string command = "LC_ALL=C '" ALLOCTAP_READELF
                                "' --wide --debug-dump=frames-interp,no-follow-links '" +
                                path + "' 2>/dev/null";
    pipe_ = ::popen(command.c_str(), "r");
  }
  ~ReadelfFrames() {
    std::free(buffer_);
    if (pipe_ != nullptr) ::pclose(pipe_);
  }
  ReadelfFrames(const ReadelfFrames&) = delete;
  ReadelfFrames& operator=(const ReadelfFrames&) = delete;

  /// The next entry of .eh_frame; nothing at its end.
  std::optional<ReadelfEntry> next() {
    while (next_line()) {
      if (line_.starts_with("Contents of the "))
        in_eh_frame_ = line_.find(".eh_frame") != line_.npos;
      const bool is_entry = line_.find(" FDE ") != line_.npos || line_.find(" CIE ") != line_.npos;
      if (in_eh_frame_ && is_entry) return read_entry();
    }
    return std::nullopt;
  }

 private:
  bool next_line() {
    const ssize_t length = pipe_ == nullptr ? -1 : ::getline(&buffer_, &capacity_, pipe_);
    if (length <= 0) return false;
    line_ = std::string_view(buffer_, static_cast<std::size_t>(length) - 1);
    return true;
  }

  ReadelfEntry read_entry() {
    ReadelfEntry entry = parse_entry(line_);
    while (next_line() && !line_.empty()) {
      if (line_.starts_with("   LOC")) {
        read_columns();
      } else {
        entry.rows.push_back(read_row());
      }
    }
    return entry;
  }

  static ReadelfEntry parse_entry(std::string_view line) {
    ReadelfEntry entry;
    entry.offset = hex_number(take_word(line));
    take_word(line);
    take_word(line);
    entry.is_description = take_word(line) == "FDE";
    if (!entry.is_description) return entry;
    entry.common_information = hex_number(take_word(line).substr(4));
    const std::string_view range = take_word(line).substr(3);
    entry.begin = hex_number(range.substr(0, range.find("..")));
    entry.end = hex_number(range.substr(range.find("..") + 2));
    return entry;
  }

  void read_columns() {
    columns_.clear();
    take_word(line_);
    take_word(line_);
    while (true) {
      const std::string_view name = take_word(line_);
      if (name.empty()) return;
      columns_.push_back(register_number(name));
    }
  }

  elf::CallFrameRow read_row() {
    elf::CallFrameRow row;
    row.begin = hex_number(take_word(line_));
    row.cfa = parse_cfa(take_word(line_));
    for (const auto& column : columns_) {
      const std::string_view cell = take_word(line_);
      if (line_.starts_with(" (")) take_word(line_);
      if (column) row.registers[*column] = parse_rule(cell);
    }
    return row;
  }

  std::FILE* pipe_ = nullptr;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  std::string_view line_;
  bool in_eh_frame_ = false;
  /// The registers of the columns; nothing for those that are not kept.
  std::vector<std::optional<std::uint8_t>> columns_;
};

}  // namespace alloctap::testing
