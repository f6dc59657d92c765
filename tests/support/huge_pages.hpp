// What the process has asked of the system for a place in its memory.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace alloctap::testing {

/// Whether `flag` ("hg": huge pages wanted, "nh": not wanted) is among the VmFlags of the mapping
/// around `address` in /proc/self/smaps (proc(5)).
inline bool mapping_has_flag(const void* address, const std::string& flag) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = place >= begin && place < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.find(' ' + flag + ' ') != line.npos;
    }
  }
  return false;
}

/// Whether the system knows huge pages that one can ask for.
inline bool huge_pages_exist() {
  return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
}

}  // namespace alloctap::testing
