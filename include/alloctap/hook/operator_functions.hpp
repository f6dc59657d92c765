/// Descriptions of operator new and operator delete. Mangled names: Itanium C++ ABI, 5.1.
#pragma once

#include <cstddef>
#include <new>
#include <tuple>

#include "alloctap/hook/function_description.hpp"

namespace alloctap::functions {

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

}  // namespace alloctap::functions
