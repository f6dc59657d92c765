/// Descriptions of the functions that map and unmap pages.
#pragma once

#include <cstddef>

#include "alloctap/hook/function_description.hpp"
#include "alloctap/os/mapping_calls.hpp"

namespace alloctap::functions {

struct Mmap {
  static constexpr const char* name = "mmap";
  static constexpr CallRole role = CallRole::kMap;
  using Signature = void*(void*, std::size_t, int, int, int, os::FileOffset);
};
struct Mmap64 : Mmap {
  static constexpr const char* name = "mmap64";
};
struct Munmap {
  static constexpr const char* name = "munmap";
  static constexpr CallRole role = CallRole::kUnmap;
  using Signature = int(void*, std::size_t);
};
/// The fifth argument is used only with MREMAP_FIXED; passing it always is harmless.
struct Mremap {
  static constexpr const char* name = "mremap";
  static constexpr CallRole role = CallRole::kRemap;
  using Signature = void*(void*, std::size_t, std::size_t, int, void*);
};

}  // namespace alloctap::functions
