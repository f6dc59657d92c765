/// Descriptions of the allocation functions of C, POSIX and glibc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "alloctap/hook/function_description.hpp"
#include "alloctap/macros.hpp"

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

}  // namespace alloctap::functions
