/// Data of this process from its parameters, and the command line split into arguments.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/os/process.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/thread_local.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

/// Splits a command line, which Windows passes as one string. Writes the arguments as UTF-8,
/// separated by '\0'. Follows the C libraries' convention ("Parsing C command-line arguments", and
/// CommandLineToArgvW).
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
        // In an argument, two quotes inside of quotes are a literal one.
        const bool is_literal = quoted && backslashes_escape_ && line_.starts_with(L'"');
        if (is_literal) {
          line_.remove_prefix(1);
          put("\"");
        } else {
          quoted = !quoted;
        }
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
    const std::size_t written = to_utf8(text, buffer_.subspan(length_)).size();
    length_ += written;
    full_ = written < utf8_length(text) || length_ == buffer_.size();
  }

  void put(const char (&character)[2]) noexcept {
    full_ = full_ || length_ == buffer_.size();
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

// After the headers that psapi.h depends on.
#include <psapi.h>

namespace alloctap::os {

/// Returns the process parameters in the PEB, which need no lock to read.
inline const RTL_USER_PROCESS_PARAMETERS& process_parameters() noexcept {
  return *thread_block()->ProcessEnvironmentBlock->ProcessParameters;
}

inline std::wstring_view view_of(const UNICODE_STRING& text) noexcept {
  return {text.Buffer, text.Length / sizeof(wchar_t)};
}

inline std::string_view executable_path(std::span<char> buffer) noexcept {
  const std::string_view path = to_utf8(view_of(process_parameters().ImagePathName), buffer);
  use_slashes(buffer.first(path.size()));
  return path;
}

inline std::string_view command_line(std::span<char> buffer) noexcept {
  return split_arguments(view_of(process_parameters().CommandLine), buffer);
}

/// Reads the current environment, because Windows keeps no copy of the environment at start.
inline std::string_view initial_environment(std::string_view name,
                                            std::span<char> buffer) noexcept {
  // Maximum length of a name or a value, in UTF-16 units.
  constexpr std::size_t kUnits = 32 * 1024;
  constexpr std::size_t kBytes = 2 * kUnits * sizeof(wchar_t);
  auto* const pages = static_cast<wchar_t*>(map_pages(kBytes));
  if (pages == nullptr) return {};
  const std::span<wchar_t> value(pages + kUnits, kUnits);
  std::string_view found;
  // The pages are zeroed, so the name ends in a zero.
  if (!to_utf16(name, {pages, kUnits - 1}).empty()) {
    ::SetLastError(ERROR_SUCCESS);
    const DWORD length = ::GetEnvironmentVariableW(pages, value.data(), kUnits);
    const bool is_set = length < kUnits && (length > 0 || ::GetLastError() == ERROR_SUCCESS);
    if (is_set && !buffer.empty()) {
      const std::size_t room = buffer.size() - 1;
      const std::wstring_view text(value.data(), length);
      const std::string_view copied = to_utf8(text, buffer.first(room));
      const bool whole = utf8_length(text) == copied.size();
      buffer[copied.size()] = '\0';
      if (whole) found = {buffer.data(), copied.size()};
    }
  }
  unmap_pages(pages, kBytes);
  return found;
}

/// An empty value removes a variable.
inline bool set_environment(const char* name, const char* value) noexcept {
  return ::_putenv_s(name, value == nullptr ? "" : value) == 0;
}

inline std::uint64_t resident_bytes() noexcept {
  PROCESS_MEMORY_COUNTERS counters{};
  const bool known =
      ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters) != 0;
  return known ? counters.WorkingSetSize : 0;
}

/// Does nothing: Windows has no fork.
inline bool register_fork_handlers(void (*)(), void (*)(), void (*)()) noexcept { return true; }

/// Searches the program's exports, because PE linkers reject undefined weak symbols.
inline const char* default_suppressions() noexcept {
  const FARPROC function =
      ::GetProcAddress(::GetModuleHandleW(nullptr), "__lsan_default_suppressions");
  if (function == nullptr) return nullptr;
  return reinterpret_cast<const char* (*)()>(reinterpret_cast<void*>(function))();
}

}  // namespace alloctap::os
