/// The memory bounds of one module's unwind tables, and the result codes of look-ups.
///
/// Unwind tables are untrusted data. The functions that read them run inside malloc, allocate
/// nothing, take no lock, and read only inside `[low, high)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::elf {

/// The result of an unwind table look-up.
enum class UnwindStatus : std::uint8_t {
  kFound,
  /// The tables do not cover this address.
  kNoDescription,
  /// The tables are inconsistent or violate the standards.
  kMalformed,
  /// The tables may be valid, but use features beyond this reader or its buffers.
  kTooComplex,
};

struct UnwindTables {
  /// The address of the module's .eh_frame_hdr.
  std::uintptr_t header = 0;
  /// Bounds of readable memory that contains the header and .eh_frame, mapped with the module.
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  /// Returns a reader from `address` to `high`, in the failed state if `address` is out of bounds.
  [[nodiscard]] ByteReader reader_at(std::uintptr_t address) const noexcept {
    if (address < low || address >= high) return ByteReader::failed();
    return ByteReader({reinterpret_cast<const std::byte*>(address), high - address});
  }
};

}  // namespace alloctap::elf
