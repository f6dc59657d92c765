/// Lines of heaptrack's text format.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/data_quality_text.hpp"
#include "alloctap/dump/dump_writer.hpp"

namespace alloctap {

/// Writer of lines: one character for the kind, then fields. Numbers are hexadecimal.
class HeaptrackLines {
 public:
  explicit HeaptrackLines(DumpWriter& out) noexcept : out_(out) {}

  [[nodiscard]] DumpWriter& out() noexcept { return out_; }

  template <std::unsigned_integral... Fields>
  void line(char kind, Fields... fields) {
    out_ << kind;
    (field(fields), ...);
    end();
  }

  /// Begins a line. Calls of `field` and then `end` must follow.
  void begin(char kind) { out_ << kind; }
  void field(std::uint64_t number) { (out_ << ' ').hex_digits(number); }
  void end() { out_ << '\n'; }

  /// Writes an entry of the string table. Control characters become '?', so the entry is one line.
  void text(std::string_view text) {
    begin('s');
    field(text.size());
    out_ << ' ';
    write_in_one_line(text, out_, '?');
    end();
  }

 private:
  DumpWriter& out_;
};

/// A preformatted line with one number, for lines that are written very often.
class RepeatedHeaptrackLine {
 public:
  RepeatedHeaptrackLine(char kind, std::uint64_t number) noexcept {
    text_[0] = kind;
    text_[1] = ' ';
    char* end = std::to_chars(text_.data() + 2, text_.data() + text_.size(), number, 16).ptr;
    *end++ = '\n';
    size_ = static_cast<std::size_t>(end - text_.data());
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 24> text_{};
  std::size_t size_ = 0;
};

}  // namespace alloctap
