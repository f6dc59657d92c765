/// The bodies of record/freed_totals.hpp.
#pragma once

#include <cstddef>
#include <new>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/freed_totals.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE FreedTotals::Entry* FreedTotals::make_entry(
    StackId stack) noexcept {
  const std::size_t piece = stack / kPiece;
  if (piece >= pieces_.size() && !pieces_.resize(piece + 1)) return nullptr;
  void* memory = Arena::allocate(sizeof(Piece));
  if (memory == nullptr) return nullptr;
  pieces_[piece] = ::new (memory) Piece{};
  return &(*pieces_[piece])[stack % kPiece];
}

}  // namespace alloctap
