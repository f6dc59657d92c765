#include <doctest/doctest.h>

#include <new>

#include "alloctap/hook/allocation_functions.hpp"

namespace {

namespace functions = alloctap::functions;
using alloctap::AllocationKind;
using alloctap::BlockRequest;
using alloctap::DeallocationKind;

constexpr std::align_val_t k64{64};

void check(const BlockRequest& request, std::size_t size, std::size_t alignment) {
  CHECK(request.size == size);
  CHECK(request.alignment == alignment);
}

/// Both spellings of an operator: for one object, and for an array.
template <class Single, class Array, class... Arguments>
void check_both(std::size_t size, std::size_t alignment, Arguments... arguments) {
  check(Single::request(arguments...), size, alignment);
  check(Array::request(arguments...), size, alignment);
}

template <class... Functions, class Kind>
void check_kind(Kind kind) {
  CHECK(((Functions::kind == kind) && ...));
}

}  // namespace

TEST_CASE("every operator new says how many bytes it is asked for, and at which alignment") {
  check_both<functions::New, functions::NewArray>(10, 0, 10U);
  check_both<functions::NewNothrow, functions::NewArrayNothrow>(10, 0, 10U, std::nothrow);
  check_both<functions::NewAligned, functions::NewArrayAligned>(10, 64, 10U, k64);
  check_both<functions::NewAlignedNothrow, functions::NewArrayAlignedNothrow>(10, 64, 10U, k64,
                                                                              std::nothrow);
}

TEST_CASE("every operator delete says what it states of the block behind the pointer") {
  check_both<functions::Delete, functions::DeleteArray>(0, 0);
  check_both<functions::DeleteSized, functions::DeleteArraySized>(10, 0, 10U);
  check_both<functions::DeleteNothrow, functions::DeleteArrayNothrow>(0, 0, std::nothrow);
  check_both<functions::DeleteAligned, functions::DeleteArrayAligned>(0, 64, k64);
  check_both<functions::DeleteSizedAligned, functions::DeleteArraySizedAligned>(10, 64, 10U, k64);
  check_both<functions::DeleteAlignedNothrow, functions::DeleteArrayAlignedNothrow>(0, 64, k64,
                                                                                    std::nothrow);
}

TEST_CASE("operators new are kept apart by what must free their blocks") {
  check_kind<functions::New, functions::NewNothrow>(AllocationKind::kNew);
  check_kind<functions::NewArray, functions::NewArrayNothrow>(AllocationKind::kNewArray);
  check_kind<functions::NewAligned, functions::NewAlignedNothrow>(AllocationKind::kAlignedNew);
  check_kind<functions::NewArrayAligned, functions::NewArrayAlignedNothrow>(
      AllocationKind::kAlignedNewArray);
}

TEST_CASE("operators delete are kept apart by whose blocks they free") {
  check_kind<functions::Delete, functions::DeleteSized, functions::DeleteNothrow>(
      DeallocationKind::kDelete);
  check_kind<functions::DeleteArray, functions::DeleteArraySized, functions::DeleteArrayNothrow>(
      DeallocationKind::kDeleteArray);
  check_kind<functions::DeleteAligned, functions::DeleteSizedAligned,
             functions::DeleteAlignedNothrow>(DeallocationKind::kAlignedDelete);
  check_kind<functions::DeleteArrayAligned, functions::DeleteArraySizedAligned,
             functions::DeleteArrayAlignedNothrow>(DeallocationKind::kAlignedDeleteArray);
}
