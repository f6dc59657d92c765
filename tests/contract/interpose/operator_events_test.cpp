// Every form of operator new and delete: what the sink is told.
#include <doctest/doctest.h>

#include <new>

#include "event_probe.hpp"

using namespace alloctap;
using namespace alloctap::testing;

namespace {

constexpr std::align_val_t k64{64};

}  // namespace

TEST_CASE("case 22, semantics: operators for one object tell kind, size and alignment") {
  const Installed installed;
  constexpr auto kNew = AllocationKind::kNew;
  constexpr auto kDelete = DeallocationKind::kDelete;
  constexpr auto kAlignedDelete = DeallocationKind::kAlignedDelete;
  const auto make = [] { return ::operator new(hundred); };
  const auto make_aligned = [] { return ::operator new(hundred, k64); };
  void* p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 0, 0, [&] { ::operator delete(p); });
  p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 100, 0, [&] { ::operator delete(p, hundred); });
  p = allocates(kNew, 100, 0, [] { return ::operator new(hundred, std::nothrow); });
  frees(p, kDelete, 0, 0, [&] { ::operator delete(p, std::nothrow); });
  p = allocates(AllocationKind::kAlignedNew, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete(p, k64); });
  p = allocates(AllocationKind::kAlignedNew, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 100, 64, [&] { ::operator delete(p, hundred, k64); });
  p = allocates(AllocationKind::kAlignedNew, 100, 64,
                [] { return ::operator new(hundred, k64, std::nothrow); });
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete(p, k64, std::nothrow); });
}

TEST_CASE("case 22, semantics: operators for arrays tell kind, size and alignment") {
  const Installed installed;
  constexpr auto kNew = AllocationKind::kNewArray;
  constexpr auto kDelete = DeallocationKind::kDeleteArray;
  constexpr auto kAlignedDelete = DeallocationKind::kAlignedDeleteArray;
  const auto make = [] { return ::operator new[](hundred); };
  const auto make_aligned = [] { return ::operator new[](hundred, k64); };
  void* p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 0, 0, [&] { ::operator delete[](p); });
  p = allocates(kNew, 100, 0, make);
  frees(p, kDelete, 100, 0, [&] { ::operator delete[](p, hundred); });
  p = allocates(kNew, 100, 0, [] { return ::operator new[](hundred, std::nothrow); });
  frees(p, kDelete, 0, 0, [&] { ::operator delete[](p, std::nothrow); });
  p = allocates(AllocationKind::kAlignedNewArray, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete[](p, k64); });
  p = allocates(AllocationKind::kAlignedNewArray, 100, 64, make_aligned);
  frees(p, kAlignedDelete, 100, 64, [&] { ::operator delete[](p, hundred, k64); });
  p = allocates(AllocationKind::kAlignedNewArray, 100, 64,
                [] { return ::operator new[](hundred, k64, std::nothrow); });
  frees(p, kAlignedDelete, 0, 64, [&] { ::operator delete[](p, k64, std::nothrow); });
}
