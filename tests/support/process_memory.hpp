// The process's memory as the kernel counts it.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace alloctap::testing {

struct ProcessMemory {
  /// Address space, in bytes.
  std::size_t mapped = 0;
  /// Pages that are there and of no file, in bytes: how many of a file's pages come with the one
  /// that was asked for is the kernel's affair. Exact, unlike the counters in /proc/self/statm,
  /// which lag.
  std::size_t resident = 0;
};

/// Allocates little, and the same each time.
inline ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream maps("/proc/self/smaps");
  for (std::string word; maps >> word;) {
    if (word != "Size:" && word != "Anonymous:") continue;
    std::size_t kilobytes = 0;
    maps >> kilobytes;
    (word == "Size:" ? memory.mapped : memory.resident) += kilobytes * 1024;
  }
  return memory;
}

}  // namespace alloctap::testing
