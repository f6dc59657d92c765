#include "windows/program_image.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "windows/windows_failure.hpp"

namespace alloctap::run {
namespace {

/// The part of a PE file that this asks of; its optional header begins alike for 32 and 64 bits.
struct ImageHead {
  bool is_image = false;
  WORD machine = 0;
  WORD characteristics = 0;
};

ImageHead read_head(HANDLE file) {
  // Headers stand within the first page, whatever the program for DOS in front of them.
  std::array<std::byte, 4096> bytes{};
  DWORD count = 0;
  if (::ReadFile(file, bytes.data(), static_cast<DWORD>(bytes.size()), &count, nullptr) == 0) {
    return {};
  }
  IMAGE_DOS_HEADER dos{};
  std::memcpy(&dos, bytes.data(), sizeof dos);
  struct {
    DWORD signature;
    IMAGE_FILE_HEADER file;
  } head{};
  const auto offset = static_cast<std::size_t>(dos.e_lfanew);
  if (dos.e_magic != IMAGE_DOS_SIGNATURE || offset > bytes.size() - sizeof head) return {};
  std::memcpy(&head, bytes.data() + offset, sizeof head);
  return {.is_image = head.signature == IMAGE_NT_SIGNATURE && offset + sizeof head <= count,
          .machine = head.file.Machine,
          .characteristics = head.file.Characteristics};
}

}  // namespace

Status check_program_image(const std::wstring& path, const std::string& name) {
  const os::Handle file(open_to_read(path));
  if (!file) return system_failure(::GetLastError(), join_text("program ", name));
  const ImageHead head = read_head(file.get());
  const auto refuse = [&name](const char* why) {
    return Status::permission_denied("program ", name, " ", why);
  };
  if (!head.is_image) return refuse("is no program for Windows (no PE file)");
  if ((head.characteristics & IMAGE_FILE_DLL) != 0) return refuse("is a library, not a program");
  if (head.machine == IMAGE_FILE_MACHINE_I386) {
    return refuse("is a 32-bit program; alloctap-run tracks 64-bit ones alone");
  }
  if (head.machine != IMAGE_FILE_MACHINE_AMD64) {
    return refuse("is for another processor; alloctap-run tracks programs for x86-64 alone");
  }
  return Status();
}

}  // namespace alloctap::run
