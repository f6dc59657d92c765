/// Word wrap for long lines of a text report.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/printable_text.hpp"

namespace alloctap {

/// Writer of words with a space between them. A word that would end beyond `kWidth` begins a new
/// line, indented to the first word. A word longer than a line has a line of its own. Escapes
/// characters that are not printable. Control plane.
class WrappedText {
 public:
  /// The width of a line in characters.
  static constexpr std::size_t kWidth = 100;

  /// `indent` is the number of characters that the line already has.
  WrappedText(DumpWriter& out, std::size_t indent) noexcept : out_(out), indent_(indent) {}

  /// Writes each word of `text`.
  void write(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) write_word(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

 private:
  void write_word(std::string_view word) {
    if (column_ == 0) {
      column_ = indent_;
    } else if (column_ + 1 + word.size() <= kWidth) {
      out_ << ' ';
      ++column_;
    } else {
      out_ << "\n";
      out_.right("", indent_);
      column_ = indent_;
    }
    out_ << PrintableText(word);
    column_ += word.size();
  }

  DumpWriter& out_;
  std::size_t indent_;
  /// Current length of the line; 0 before the first word.
  std::size_t column_ = 0;
};

}  // namespace alloctap
