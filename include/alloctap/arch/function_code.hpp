/// The machine code of one function, as input of a decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::arch {

/// The code of a function. `bytes` is the code that runs at `address`, possibly a copy or read from
/// a file. `behind` is the readable memory after the function, which is searched for padding.
struct FunctionCode {
  std::uintptr_t address = 0;
  std::span<const std::byte> bytes;
  std::span<const std::byte> behind;
};

}  // namespace alloctap::arch
