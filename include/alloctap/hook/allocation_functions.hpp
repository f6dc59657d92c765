/// Table of the allocation functions of C, POSIX and C++. Every backend generates its handlers from
/// this table (`call_wrapper.hpp`).
#pragma once

#include <cstddef>

#include "alloctap/hook/c_functions.hpp"
#include "alloctap/hook/function_description.hpp"
#include "alloctap/hook/operator_functions.hpp"
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
/// Always passing the fifth argument is harmless, because mremap reads it only with MREMAP_FIXED.
struct Mremap {
  static constexpr const char* name = "mremap";
  static constexpr CallRole role = CallRole::kRemap;
  using Signature = void*(void*, std::size_t, std::size_t, int, void*);
};

}  // namespace alloctap::functions

namespace alloctap {

/// Functions that allocate, free or measure heap blocks.
using HeapFunctions = FunctionList<
    functions::Malloc, functions::Calloc, functions::Realloc, functions::Free, functions::Memalign,
    functions::PosixMemalign, functions::AlignedAlloc, functions::Valloc, functions::Pvalloc,
    functions::Reallocarray, functions::MallocUsableSize, functions::Strdup, functions::Strndup,
    functions::New, functions::NewArray, functions::NewNothrow, functions::NewArrayNothrow,
    functions::NewAligned, functions::NewArrayAligned, functions::NewAlignedNothrow,
    functions::NewArrayAlignedNothrow, functions::Delete, functions::DeleteArray,
    functions::DeleteSized, functions::DeleteArraySized, functions::DeleteNothrow,
    functions::DeleteArrayNothrow, functions::DeleteAligned, functions::DeleteArrayAligned,
    functions::DeleteSizedAligned, functions::DeleteArraySizedAligned,
    functions::DeleteAlignedNothrow, functions::DeleteArrayAlignedNothrow>;

/// Functions that map and unmap pages.
using MappingFunctions =
    FunctionList<functions::Mmap, functions::Mmap64, functions::Munmap, functions::Mremap>;

using AllocationFunctions = JoinedFunctions<HeapFunctions, MappingFunctions>;

}  // namespace alloctap
