/// Whether code in memory is what stands in the module's file: `code_is_as_in_file(address)` looks
/// at all code that lies together with `address`.
#pragma once

#if defined(_WIN32)
#include "tests/support/windows/code_in_file.hpp"
#else
#include "tests/support/mapped_files.hpp"

namespace alloctap::testing {

inline bool code_is_as_in_file(const void* address) {
  return mapped_file_at(address).is_as_in_file();
}

}  // namespace alloctap::testing
#endif
