/// Table of the allocation functions of C, POSIX and C++.
///
/// Backends on ELF systems generate their handlers from this table (`CallWrapper`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <tuple>

#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/mapping_calls.hpp"

namespace alloctap::functions {

/// Returns `count * size`. Returns SIZE_MAX, which no allocator can serve, on overflow.
constexpr std::size_t array_bytes(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  return ALLOCTAP_MULTIPLY_OVERFLOWS(count, size, &bytes) ? SIZE_MAX : bytes;
}

struct Malloc : Allocates<AllocationKind::kMalloc> {
  static constexpr const char* name = "malloc";
  static constexpr bool is_hot = true;
  using Signature = void*(std::size_t);
  static BlockRequest request(std::size_t size) noexcept { return {size, 0}; }
  static std::tuple<std::size_t> with_bytes(std::size_t bytes, std::size_t) noexcept {
    return {bytes};
  }
};

struct Calloc : Allocates<AllocationKind::kMalloc> {
  static constexpr const char* name = "calloc";
  using Signature = void*(std::size_t, std::size_t);
  static BlockRequest request(std::size_t count, std::size_t size) noexcept {
    return {array_bytes(count, size), 0};
  }
  static constexpr bool has_content = true;
  static std::tuple<std::size_t, std::size_t> with_bytes(std::size_t bytes, std::size_t,
                                                         std::size_t) noexcept {
    return {1, bytes};
  }
};

struct Memalign : Allocates<AllocationKind::kAlignedAlloc> {
  static constexpr const char* name = "memalign";
  using Signature = void*(std::size_t, std::size_t);
  static BlockRequest request(std::size_t alignment, std::size_t size) noexcept {
    return {size, alignment};
  }
  static std::tuple<std::size_t, std::size_t> with_bytes(std::size_t bytes, std::size_t alignment,
                                                         std::size_t) noexcept {
    return {alignment, bytes};
  }
};

struct AlignedAlloc : Memalign {
  static constexpr const char* name = "aligned_alloc";
};

struct Valloc : Allocates<AllocationKind::kAlignedAlloc> {
  static constexpr const char* name = "valloc";
  using Signature = void*(std::size_t);
  static BlockRequest request(std::size_t size) noexcept { return {size, 0}; }
};

struct Pvalloc : Valloc {
  static constexpr const char* name = "pvalloc";
  /// The program may use the block up to the end of its last page.
  static constexpr bool gives_whole_pages = true;
};

struct PosixMemalign {
  static constexpr const char* name = "posix_memalign";
  static constexpr CallRole role = CallRole::kAllocateInto;
  static constexpr AllocationKind kind = AllocationKind::kAlignedAlloc;
  using Signature = int(void**, std::size_t, std::size_t);
  static BlockRequest request(void**, std::size_t alignment, std::size_t size) noexcept {
    return {size, alignment};
  }
  static std::tuple<void**, std::size_t, std::size_t> with_bytes(std::size_t bytes, void** result,
                                                                 std::size_t alignment,
                                                                 std::size_t) noexcept {
    return {result, alignment, bytes};
  }
};

struct Strdup : Allocates<AllocationKind::kMalloc> {
  static constexpr const char* name = "strdup";
  using Signature = char*(const char*);
  static BlockRequest request(const char* text) noexcept { return {std::strlen(text) + 1, 0}; }
};

struct Strndup : Allocates<AllocationKind::kMalloc> {
  static constexpr const char* name = "strndup";
  using Signature = char*(const char*, std::size_t);
  static BlockRequest request(const char* text, std::size_t most) noexcept {
    return {::strnlen(text, most) + 1, 0};
  }
};

struct Realloc {
  static constexpr const char* name = "realloc";
  static constexpr CallRole role = CallRole::kReallocate;
  static constexpr AllocationKind kind = AllocationKind::kMalloc;
  using Signature = void*(void*, std::size_t);
  static BlockRequest request(void*, std::size_t size) noexcept { return {size, 0}; }
};

struct Reallocarray {
  static constexpr const char* name = "reallocarray";
  static constexpr CallRole role = CallRole::kReallocate;
  static constexpr AllocationKind kind = AllocationKind::kMalloc;
  using Signature = void*(void*, std::size_t, std::size_t);
  static BlockRequest request(void*, std::size_t count, std::size_t size) noexcept {
    return {array_bytes(count, size), 0};
  }
};

struct Free : DeallocatesBlock<DeallocationKind::kFree> {
  static constexpr const char* name = "free";
  static constexpr bool is_hot = true;
  using Signature = void(void*);
  static BlockRequest request() noexcept { return {}; }
};

struct MallocUsableSize {
  static constexpr const char* name = "malloc_usable_size";
  static constexpr CallRole role = CallRole::kMeasure;
  using Signature = std::size_t(void*);
};

// Mangled names: Itanium C++ ABI, 5.1.
static_assert(sizeof(std::size_t) == sizeof(unsigned long), "the names below are those of LP64");

/// Variants of operator new by argument list. `Kind` is the block's family, such as new or new[].
template <AllocationKind Kind>
struct PlainNew : Allocates<Kind> {
  using Signature = void*(std::size_t);
  static constexpr bool throws = true;
  static BlockRequest request(std::size_t size) noexcept { return {size, 0}; }
  static std::tuple<std::size_t> with_bytes(std::size_t bytes, std::size_t) noexcept {
    return {bytes};
  }
};
template <AllocationKind Kind>
struct NothrowNew : Allocates<Kind> {
  using Signature = void*(std::size_t, const std::nothrow_t&);
  static BlockRequest request(std::size_t size, const std::nothrow_t&) noexcept {
    return {size, 0};
  }
  static std::tuple<std::size_t, const std::nothrow_t&> with_bytes(
      std::size_t bytes, std::size_t, const std::nothrow_t& tag) noexcept {
    return {bytes, tag};
  }
};
template <AllocationKind Kind>
struct AlignedNew : Allocates<Kind> {
  using Signature = void*(std::size_t, std::align_val_t);
  static constexpr bool throws = true;
  static BlockRequest request(std::size_t size, std::align_val_t alignment) noexcept {
    return {size, static_cast<std::size_t>(alignment)};
  }
  static std::tuple<std::size_t, std::align_val_t> with_bytes(std::size_t bytes, std::size_t,
                                                              std::align_val_t alignment) noexcept {
    return {bytes, alignment};
  }
};
template <AllocationKind Kind>
struct AlignedNothrowNew : Allocates<Kind> {
  using Signature = void*(std::size_t, std::align_val_t, const std::nothrow_t&);
  static BlockRequest request(std::size_t size, std::align_val_t alignment,
                              const std::nothrow_t&) noexcept {
    return {size, static_cast<std::size_t>(alignment)};
  }
  static std::tuple<std::size_t, std::align_val_t, const std::nothrow_t&> with_bytes(
      std::size_t bytes, std::size_t, std::align_val_t alignment,
      const std::nothrow_t& tag) noexcept {
    return {bytes, alignment, tag};
  }
};

struct New : PlainNew<AllocationKind::kNew> {
  static constexpr const char* name = "_Znwm";
  static constexpr bool is_hot = true;
};
struct NewArray : PlainNew<AllocationKind::kNewArray> {
  static constexpr const char* name = "_Znam";
};
struct NewNothrow : NothrowNew<AllocationKind::kNew> {
  static constexpr const char* name = "_ZnwmRKSt9nothrow_t";
};
struct NewArrayNothrow : NothrowNew<AllocationKind::kNewArray> {
  static constexpr const char* name = "_ZnamRKSt9nothrow_t";
};
struct NewAligned : AlignedNew<AllocationKind::kAlignedNew> {
  static constexpr const char* name = "_ZnwmSt11align_val_t";
};
struct NewArrayAligned : AlignedNew<AllocationKind::kAlignedNewArray> {
  static constexpr const char* name = "_ZnamSt11align_val_t";
};
struct NewAlignedNothrow : AlignedNothrowNew<AllocationKind::kAlignedNew> {
  static constexpr const char* name = "_ZnwmSt11align_val_tRKSt9nothrow_t";
};
struct NewArrayAlignedNothrow : AlignedNothrowNew<AllocationKind::kAlignedNewArray> {
  static constexpr const char* name = "_ZnamSt11align_val_tRKSt9nothrow_t";
};

/// Variants of operator delete, named after the parameters that follow the pointer.
template <DeallocationKind Kind>
struct PlainDelete : DeallocatesBlock<Kind> {
  using Signature = void(void*);
  static BlockRequest request() noexcept { return {}; }
};
template <DeallocationKind Kind>
struct SizedDelete : DeallocatesBlock<Kind> {
  using Signature = void(void*, std::size_t);
  static BlockRequest request(std::size_t size) noexcept { return {size, 0}; }
};
template <DeallocationKind Kind>
struct NothrowDelete : DeallocatesBlock<Kind> {
  using Signature = void(void*, const std::nothrow_t&);
  static BlockRequest request(const std::nothrow_t&) noexcept { return {}; }
};
template <DeallocationKind Kind>
struct AlignedDelete : DeallocatesBlock<Kind> {
  using Signature = void(void*, std::align_val_t);
  static BlockRequest request(std::align_val_t alignment) noexcept {
    return {0, static_cast<std::size_t>(alignment)};
  }
};
template <DeallocationKind Kind>
struct SizedAlignedDelete : DeallocatesBlock<Kind> {
  using Signature = void(void*, std::size_t, std::align_val_t);
  static BlockRequest request(std::size_t size, std::align_val_t alignment) noexcept {
    return {size, static_cast<std::size_t>(alignment)};
  }
};
template <DeallocationKind Kind>
struct AlignedNothrowDelete : DeallocatesBlock<Kind> {
  using Signature = void(void*, std::align_val_t, const std::nothrow_t&);
  static BlockRequest request(std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return {0, static_cast<std::size_t>(alignment)};
  }
};

struct Delete : PlainDelete<DeallocationKind::kDelete> {
  static constexpr const char* name = "_ZdlPv";
  static constexpr bool is_hot = true;
};
struct DeleteArray : PlainDelete<DeallocationKind::kDeleteArray> {
  static constexpr const char* name = "_ZdaPv";
};
struct DeleteSized : SizedDelete<DeallocationKind::kDelete> {
  static constexpr const char* name = "_ZdlPvm";
  static constexpr bool is_hot = true;
};
struct DeleteArraySized : SizedDelete<DeallocationKind::kDeleteArray> {
  static constexpr const char* name = "_ZdaPvm";
};
struct DeleteNothrow : NothrowDelete<DeallocationKind::kDelete> {
  static constexpr const char* name = "_ZdlPvRKSt9nothrow_t";
};
struct DeleteArrayNothrow : NothrowDelete<DeallocationKind::kDeleteArray> {
  static constexpr const char* name = "_ZdaPvRKSt9nothrow_t";
};
struct DeleteAligned : AlignedDelete<DeallocationKind::kAlignedDelete> {
  static constexpr const char* name = "_ZdlPvSt11align_val_t";
};
struct DeleteArrayAligned : AlignedDelete<DeallocationKind::kAlignedDeleteArray> {
  static constexpr const char* name = "_ZdaPvSt11align_val_t";
};
struct DeleteSizedAligned : SizedAlignedDelete<DeallocationKind::kAlignedDelete> {
  static constexpr const char* name = "_ZdlPvmSt11align_val_t";
};
struct DeleteArraySizedAligned : SizedAlignedDelete<DeallocationKind::kAlignedDeleteArray> {
  static constexpr const char* name = "_ZdaPvmSt11align_val_t";
};
struct DeleteAlignedNothrow : AlignedNothrowDelete<DeallocationKind::kAlignedDelete> {
  static constexpr const char* name = "_ZdlPvSt11align_val_tRKSt9nothrow_t";
};
struct DeleteArrayAlignedNothrow : AlignedNothrowDelete<DeallocationKind::kAlignedDeleteArray> {
  static constexpr const char* name = "_ZdaPvSt11align_val_tRKSt9nothrow_t";
};

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
/// Handlers always pass a fifth argument, even if the caller gave four. This is harmless: mremap
/// reads the fifth only with MREMAP_FIXED or MREMAP_DONTUNMAP.
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
