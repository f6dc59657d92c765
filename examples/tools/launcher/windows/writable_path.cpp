#include "launcher/writable_path.hpp"

#include <array>
#include <system_error>

#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"
#include "launcher/path_text.hpp"
#include "settings.hpp"
#include "windows/windows_failure.hpp"

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

Status refuse(const std::string& why) { return Status::invalid_argument(why); }

Status check_existing(const fs::path& path) {
  const DWORD attributes = ::GetFileAttributesW(path.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return Status();
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return refuse("the path is a directory; add a file name");
  }
  if ((attributes & FILE_ATTRIBUTE_READONLY) == 0) return Status();
  return refuse("the file is there and is read-only; choose another path");
}

/// Reports are written to a temporary file with a longer name, so that is what has to work.
Status try_to_create_beside(const fs::path& path) {
  std::wstring probe = path.native() + L".probe-" + std::to_wstring(::GetCurrentProcessId());
  const std::size_t bytes = path.native().size() + kTemporarySuffixBytes;
  probe.resize(bytes, L'0');
  const HANDLE file = ::CreateFileW(probe.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_NEW,
                                    FILE_FLAG_DELETE_ON_CLOSE, nullptr);
  if (file != INVALID_HANDLE_VALUE) {
    ::CloseHandle(file);
    return Status();
  }
  const std::string what =
      join_text("no file can be created in ", in_quotes(text_of(path.parent_path())));
  return refuse(
      join_text(system_failure(::GetLastError(), what).message(), "; choose another path"));
}

}  // namespace

/// Links are the system's: a name that is replaced is the link's.
Result<fs::path> follow_links(fs::path path) { return path; }

bool is_written_through(const fs::path& path) {
  constexpr std::wstring_view kDevices = L"\\\\.\\";
  std::array<wchar_t, 64> full{};
  const DWORD length = ::GetFullPathNameW(path.c_str(), full.size(), full.data(), nullptr);
  return length < full.size() && std::wstring_view(full.data(), length).starts_with(kDevices);
}

std::string standard_stream_path(const fs::path&) { return {}; }

Result<std::string> check_device(const fs::path&) {
  return refuse("the path is a device or a pipe; choose a file");
}

Result<fs::path> check_file(const fs::path& path) {
  if (path.filename().empty()) return refuse("the path is a directory; add a file name");
  const fs::path directory = path.parent_path();
  const DWORD attributes = ::GetFileAttributesW(directory.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    return refuse(join_text("there is no directory ", in_quotes(text_of(directory)),
                            "; create it or choose another path"));
  }
  std::array<wchar_t, 32768> full{};
  const DWORD length = ::GetFullPathNameW(path.c_str(), full.size(), full.data(), nullptr);
  fs::path file = std::wstring_view(full.data(), length);
  if (Status status = check_existing(file); !status.ok()) return status;
  if (Status status = try_to_create_beside(file); !status.ok()) return status;
  return file.make_preferred();
}

Result<std::string> standard_output_path() {
  return refuse("reports cannot go to standard output on this system; name a file");
}

/// File systems of Windows keep the case of letters, and find files by any.
std::string identity_of(const fs::path& file) {
  std::wstring folded(file.native().size(), L'\0');
  const auto units = static_cast<int>(folded.size());
  ::LCMapStringEx(LOCALE_NAME_INVARIANT, LCMAP_UPPERCASE, file.c_str(), units, folded.data(), units,
                  nullptr, nullptr, 0);
  return text_of(folded);
}

}  // namespace alloctap::run
