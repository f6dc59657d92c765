/// Where one module's unwind tables are, and how they may be read.
///
/// The tables of a module are data that may be wrong in every way: whatever reads them here runs
/// inside malloc, allocates nothing, takes no lock, and reads only inside `[low, high)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::elf {

/// What looking something up in unwind tables came to.
enum class UnwindStatus : std::uint8_t {
  kFound,
  /// The tables say nothing of this address.
  kNoDescription,
  /// The tables contradict themselves, or what the standards allow.
  kMalformed,
  /// The tables may be right, but use what this reader does not know or has no room for.
  kTooComplex,
};

struct UnwindTables {
  /// The address of the module's .eh_frame_hdr.
  std::uintptr_t header = 0;
  /// Readable memory that holds the header, .eh_frame, and nothing that may vanish before them.
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  /// Reads from `address` to the end of the memory; a reader that has failed where `address` lies
  /// outside.
  [[nodiscard]] ByteReader reader_at(std::uintptr_t address) const noexcept {
    if (address < low || address >= high) return ByteReader::failed();
    return ByteReader({reinterpret_cast<const std::byte*>(address), high - address});
  }
};

}  // namespace alloctap::elf
