/// Definitions for os/linux/memory_map.hpp.
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "alloctap/os/linux/memory_map.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE MemoryRegion parse_memory_region(std::string_view line) noexcept {
  MemoryRegion region;
  region.start = take_hex<std::uintptr_t>(line);
  region.end = take_hex<std::uintptr_t>(line);
  region.readable = line.size() > 0 && line[0] == 'r';
  region.writable = line.size() > 1 && line[1] == 'w';
  region.executable = line.size() > 2 && line[2] == 'x';
  region.shared = line.size() > 3 && line[3] == 's';
  skip_field(line);
  region.file_offset = take_hex<std::uint64_t>(line);
  skip_field(line);
  skip_field(line);
  region.is_gone = take_deletion_mark(line);
  region.path = line;
  return region;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool visit_memory_map_erased(
    int file, std::span<char> buffer, const RegionVisitor& visit) noexcept {
  std::size_t filled = 0;
  bool inside_long_line = false;
  for (;;) {
    const auto count = read_some(file, buffer.subspan(filled));
    if (count <= 0) return count == 0;
    filled += static_cast<std::size_t>(count);
    std::string_view text(buffer.data(), filled);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == text.npos && text.size() < buffer.size()) break;
      if (!inside_long_line && !visit(parse_memory_region(text.substr(0, end)))) return true;
      inside_long_line = end == text.npos;
      text.remove_prefix(inside_long_line ? text.size() : end + 1);
    }
    filled = text.size();
    std::memmove(buffer.data(), text.data(), filled);
  }
}

ALLOCTAP_INLINE std::size_t copy_memory(std::uintptr_t address,
                                        std::span<std::byte> buffer) noexcept {
  const iovec to{.iov_base = buffer.data(), .iov_len = buffer.size()};
  const iovec from{.iov_base = reinterpret_cast<void*>(address), .iov_len = buffer.size()};
  const long copied =
      ::syscall(SYS_process_vm_readv, ::syscall(SYS_gettid), &to, 1UL, &from, 1UL, 0UL);
  if (copied > 0) return static_cast<std::size_t>(copied);
  // process_vm_readv may be forbidden. /proc/self/mem also reads protected pages.
  int error = 0;
  const File memory = open_for_reading(OwnProcPath("mem").text(), error);
  ssize_t count = 0;
  do {
    count = ::pread(memory.descriptor(), buffer.data(), buffer.size(), static_cast<off_t>(address));
  } while (count < 0 && errno == EINTR);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace alloctap::os
