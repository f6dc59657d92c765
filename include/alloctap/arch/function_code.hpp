/// The machine code of one function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::arch {

/// `bytes` are what lies at `address` while the function runs; they may be read from a copy or from
/// a file. `behind`: what follows the function, as far as it may be read; padding is looked for in
/// it.
struct FunctionCode {
  std::uintptr_t address = 0;
  std::span<const std::byte> bytes;
  std::span<const std::byte> behind;
};

}  // namespace alloctap::arch
