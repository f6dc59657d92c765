#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

#include "alloctap/hook/allocation_functions.hpp"

namespace {

namespace functions = alloctap::functions;
using alloctap::AllocationKind;
using alloctap::BlockRequest;
using alloctap::CallRole;
using alloctap::DeallocationKind;

constexpr std::size_t kNone = 0;
constexpr std::size_t kHuge = SIZE_MAX / 2 + 1;

void check_request(const BlockRequest& request, std::size_t size, std::size_t alignment = kNone) {
  CHECK(request.size == size);
  CHECK(request.alignment == alignment);
}

}  // namespace

TEST_CASE("the C functions say in which argument size and alignment are") {
  void* block = nullptr;
  check_request(functions::Malloc::request(10), 10);
  check_request(functions::Calloc::request(3, 7), 21);
  check_request(functions::Memalign::request(64, 10), 10, 64);
  check_request(functions::AlignedAlloc::request(32, 96), 96, 32);
  check_request(functions::Valloc::request(10), 10);
  check_request(functions::Pvalloc::request(10), 10);
  check_request(functions::PosixMemalign::request(&block, 128, 10), 10, 128);
  check_request(functions::Realloc::request(nullptr, 10), 10);
  check_request(functions::Reallocarray::request(nullptr, 3, 7), 21);
  check_request(functions::Free::request(), 0);
}

TEST_CASE("a copied text needs room for its end") {
  check_request(functions::Strdup::request(""), 1);
  check_request(functions::Strdup::request("four"), 5);
  check_request(functions::Strndup::request("four", 10), 5);
  check_request(functions::Strndup::request("four", 4), 5);
  check_request(functions::Strndup::request("four", 3), 4);
  check_request(functions::Strndup::request("four", 0), 1);
  const char unterminated[] = {'a', 'b', 'c'};
  check_request(functions::Strndup::request(unterminated, 3), 4);
}

TEST_CASE("a product that overflows is more than there can be") {
  for (const std::size_t other : {std::size_t{2}, std::size_t{3}, kHuge, SIZE_MAX}) {
    check_request(functions::Calloc::request(kHuge, other), SIZE_MAX);
    check_request(functions::Calloc::request(other, kHuge), SIZE_MAX);
    check_request(functions::Reallocarray::request(nullptr, kHuge, other), SIZE_MAX);
  }
  check_request(functions::Calloc::request(SIZE_MAX, 1), SIZE_MAX);
  check_request(functions::Calloc::request(SIZE_MAX, 0), 0);
  check_request(functions::Reallocarray::request(nullptr, 0, SIZE_MAX), 0);
}

TEST_CASE("the C functions belong to the malloc family, those that align to its aligned part") {
  CHECK(functions::Malloc::kind == AllocationKind::kMalloc);
  CHECK(functions::Calloc::kind == AllocationKind::kMalloc);
  CHECK(functions::Realloc::kind == AllocationKind::kMalloc);
  CHECK(functions::Reallocarray::kind == AllocationKind::kMalloc);
  CHECK(functions::Strdup::kind == AllocationKind::kMalloc);
  CHECK(functions::Strndup::kind == AllocationKind::kMalloc);
  CHECK(functions::Memalign::kind == AllocationKind::kAlignedAlloc);
  CHECK(functions::AlignedAlloc::kind == AllocationKind::kAlignedAlloc);
  CHECK(functions::PosixMemalign::kind == AllocationKind::kAlignedAlloc);
  CHECK(functions::Valloc::kind == AllocationKind::kAlignedAlloc);
  CHECK(functions::Pvalloc::kind == AllocationKind::kAlignedAlloc);
  CHECK(functions::Free::kind == DeallocationKind::kFree);
}

TEST_CASE("the C functions say which handler fits") {
  CHECK(functions::Malloc::role == CallRole::kAllocate);
  CHECK(functions::Strndup::role == CallRole::kAllocate);
  CHECK(functions::PosixMemalign::role == CallRole::kAllocateInto);
  CHECK(functions::Realloc::role == CallRole::kReallocate);
  CHECK(functions::Reallocarray::role == CallRole::kReallocate);
  CHECK(functions::Free::role == CallRole::kDeallocate);
  CHECK(functions::MallocUsableSize::role == CallRole::kMeasure);
}
