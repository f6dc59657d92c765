#include "launcher/windows/program_file.hpp"

#include <algorithm>
#include <string_view>

#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/path_text.hpp"
#include "windows/windows_failure.hpp"

namespace alloctap::run {
namespace {

/// Backslashes are letters, but for those in front of a quote.
void append_quoted(std::wstring_view argument, std::wstring& line) {
  line.push_back(L'"');
  std::size_t backslashes = 0;
  for (const wchar_t unit : argument) {
    if (unit == L'"') line.append(backslashes + 1, L'\\');
    backslashes = unit == L'\\' ? backslashes + 1 : 0;
    line.push_back(unit);
  }
  line.append(backslashes, L'\\');
  line.push_back(L'"');
}

bool needs_quotes(std::wstring_view argument) {
  return argument.empty() || argument.find_first_of(L" \t\n\v\"") != argument.npos;
}

}  // namespace

Result<std::wstring> find_program(const std::string& name) {
  const std::wstring wide = path_of(name).native();
  std::wstring found(32768, L'\0');
  const DWORD length = ::SearchPathW(nullptr, wide.c_str(), L".exe",
                                     static_cast<DWORD>(found.size()), found.data(), nullptr);
  if (length == 0 || length >= found.size()) {
    return system_failure(::GetLastError(), join_text("program ", in_quotes(name)));
  }
  found.resize(length);
  return found;
}

std::wstring join_arguments(std::span<char* const> arguments) {
  std::wstring line;
  for (const char* const argument : arguments) {
    const std::wstring wide = path_of(argument).native();
    if (!line.empty()) line.push_back(L' ');
    if (needs_quotes(wide)) {
      append_quoted(wide, line);
    } else {
      line.append(wide);
    }
  }
  return line;
}

}  // namespace alloctap::run
