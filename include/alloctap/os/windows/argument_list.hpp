/// Splits a command line, which Windows passes as one string, into arguments. Follows the C
/// libraries' convention ("Parsing C command-line arguments", and CommandLineToArgvW).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/os/windows/utf8.hpp"

namespace alloctap::os {

/// Writes the arguments of a command line as UTF-8, separated by '\0'.
class ArgumentSplitter {
 public:
  ArgumentSplitter(std::wstring_view line, std::span<char> buffer) noexcept
      : line_(line), buffer_(buffer) {}

  std::string_view split() noexcept {
    // In the program name, quotes are special but backslashes are not.
    backslashes_escape_ = false;
    while (!line_.empty() && !full_) {
      write_argument();
      backslashes_escape_ = true;
      while (!line_.empty() && is_blank(line_.front())) line_.remove_prefix(1);
      if (!line_.empty()) put("\0");
    }
    return {buffer_.data(), length_};
  }

 private:
  static bool is_blank(wchar_t unit) noexcept { return unit == L' ' || unit == L'\t'; }

  void write_argument() noexcept {
    bool quoted = false;
    while (!line_.empty() && !full_ && (quoted || !is_blank(line_.front()))) {
      if (backslashes_escape_ && line_.front() == L'\\') {
        write_backslashes();
      } else if (line_.front() == L'"') {
        line_.remove_prefix(1);
        quoted = !quoted;
      } else {
        write_text();
      }
    }
  }

  /// Writes a backslash for every two before a quote. An odd backslash makes the quote literal.
  void write_backslashes() noexcept {
    const std::size_t count = std::min(line_.find_first_not_of(L'\\'), line_.size());
    line_.remove_prefix(count);
    const bool quote_follows = !line_.empty() && line_.front() == L'"';
    for (std::size_t i = 0; i < (quote_follows ? count / 2 : count); ++i) put("\\");
    if (quote_follows && count % 2 == 1) {
      line_.remove_prefix(1);
      put("\"");
    }
  }

  void write_text() noexcept {
    const std::size_t end = line_.find_first_of(L" \t\"\\", 1);
    const std::wstring_view text = line_.substr(0, end);
    line_.remove_prefix(text.size());
    const std::size_t before = length_;
    length_ += to_utf8(text, buffer_.subspan(length_)).size();
    full_ = length_ == before || length_ == buffer_.size();
  }

  void put(const char (&character)[2]) noexcept {
    full_ = length_ == buffer_.size();
    if (!full_) buffer_[length_++] = character[0];
  }

  std::wstring_view line_;
  std::span<char> buffer_;
  std::size_t length_ = 0;
  bool backslashes_escape_ = false;
  bool full_ = false;
};

inline std::string_view split_arguments(std::wstring_view line, std::span<char> buffer) noexcept {
  return ArgumentSplitter(line, buffer).split();
}

}  // namespace alloctap::os
