/// Descriptions of the aligned allocation functions of Windows' C libraries.
///
/// GCC's and Microsoft's aligned operators new and delete call these functions. Arguments and error
/// results: "_aligned_malloc" and related pages, C runtime library reference (Microsoft).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/hook/function_description.hpp"

namespace alloctap {

/// Kind of function: selects the handler.
enum class AlignedRole : std::uint8_t { kAllocate, kReallocate, kFree, kMeasure };

/// Arguments of a call, in bytes.
struct AlignedRequest {
  std::size_t size = 0;
  std::size_t alignment = 0;
  /// Offset in bytes from the block's start to the byte that must be aligned.
  std::size_t offset = 0;
  /// Whether bytes beyond the old block's size must be zeroed.
  bool is_zeroed = false;

  /// Returns the alignment that the library applies, which is at least that of a pointer.
  [[nodiscard]] std::size_t real_alignment() const noexcept {
    return std::max(alignment, sizeof(void*));
  }

  /// Returns true if the library accepts the arguments.
  [[nodiscard]] bool is_valid() const noexcept {
    return (alignment == 0 || std::has_single_bit(alignment)) && (offset == 0 || offset < size);
  }

  /// Returns true if the arguments are valid and not too large, and the block's first byte must be
  /// aligned.
  [[nodiscard]] bool is_plain() const noexcept {
    return is_valid() && alignment <= kLargest && size <= kLargest &&
           offset % real_alignment() == 0;
  }

  /// Size of a request whose `count * size` overflows.
  static constexpr std::size_t kTooMuch = SIZE_MAX;

 private:
  static constexpr std::size_t kLargest = PTRDIFF_MAX / 4;
};

namespace crt {

[[nodiscard]] inline std::size_t multiply(std::size_t count, std::size_t size) noexcept {
  const bool fits = size == 0 || count <= AlignedRequest::kTooMuch / size;
  return fits ? count * size : AlignedRequest::kTooMuch;
}

struct AlignedMalloc {
  static constexpr const char* name = "_aligned_malloc";
  static constexpr AlignedRole role = AlignedRole::kAllocate;
  using Signature = void*(std::size_t size, std::size_t alignment);
  static AlignedRequest request(std::size_t size, std::size_t alignment) noexcept {
    return {size, alignment};
  }
};

struct AlignedOffsetMalloc {
  static constexpr const char* name = "_aligned_offset_malloc";
  static constexpr AlignedRole role = AlignedRole::kAllocate;
  using Signature = void*(std::size_t size, std::size_t alignment, std::size_t offset);
  static AlignedRequest request(std::size_t size, std::size_t alignment,
                                std::size_t offset) noexcept {
    return {size, alignment, offset};
  }
};

struct AlignedRealloc {
  static constexpr const char* name = "_aligned_realloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t size, std::size_t alignment);
  static AlignedRequest request(void*, std::size_t size, std::size_t alignment) noexcept {
    return {size, alignment};
  }
};

struct AlignedOffsetRealloc {
  static constexpr const char* name = "_aligned_offset_realloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t size, std::size_t alignment, std::size_t offset);
  static AlignedRequest request(void*, std::size_t size, std::size_t alignment,
                                std::size_t offset) noexcept {
    return {size, alignment, offset};
  }
};

struct AlignedRecalloc {
  static constexpr const char* name = "_aligned_recalloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t count, std::size_t size, std::size_t alignment);
  static AlignedRequest request(void*, std::size_t count, std::size_t size,
                                std::size_t alignment) noexcept {
    return {multiply(count, size), alignment, 0, true};
  }
};

struct AlignedOffsetRecalloc {
  static constexpr const char* name = "_aligned_offset_recalloc";
  static constexpr AlignedRole role = AlignedRole::kReallocate;
  using Signature = void*(void* block, std::size_t count, std::size_t size, std::size_t alignment,
                          std::size_t offset);
  static AlignedRequest request(void*, std::size_t count, std::size_t size, std::size_t alignment,
                                std::size_t offset) noexcept {
    return {multiply(count, size), alignment, offset, true};
  }
};

struct AlignedFree {
  static constexpr const char* name = "_aligned_free";
  static constexpr AlignedRole role = AlignedRole::kFree;
  using Signature = void(void* block);
};

struct AlignedMsize {
  static constexpr const char* name = "_aligned_msize";
  static constexpr AlignedRole role = AlignedRole::kMeasure;
  using Signature = std::size_t(void* block, std::size_t alignment, std::size_t offset);
};

}  // namespace crt

/// Functions to hook. A library may lack some, but must export malloc, free and offset_malloc.
using WindowsAlignedFunctions =
    FunctionList<crt::AlignedMalloc, crt::AlignedFree, crt::AlignedOffsetMalloc,
                 crt::AlignedRealloc, crt::AlignedOffsetRealloc, crt::AlignedRecalloc,
                 crt::AlignedOffsetRecalloc, crt::AlignedMsize>;

/// Libraries that export the functions. Each library has its own implementation.
inline constexpr std::array<std::string_view, 2> kAlignedLibraries{"msvcrt.dll", "ucrtbase.dll"};

}  // namespace alloctap
