/// Patches that last as long as the process.
#pragma once

#include <alloctap/hook/inline/function_patch.hpp>
#include <alloctap/runtime/arena.hpp>
#include <new>
#include <utility>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// Calls of the function at `target` lead to `replacement` from now on, and `original` is set
/// before the first of them. Control plane.
template <class Function>
[[nodiscard]] Status patch_for_good(const PatchTarget& target, Function* replacement,
                                    Function*& original) {
  auto patch = FunctionPatch::prepare(target, reinterpret_cast<const void*>(replacement));
  if (!patch.ok()) return patch.status();
  original = patch->original(replacement);
  if (Status status = patch->enable(); !status.ok()) return status;
  void* const place = Arena::allocate(sizeof(FunctionPatch));
  if (place == nullptr) return Status::resource_exhausted("the system has no memory");
  ::new (place) FunctionPatch(*std::move(patch));
  return Status();
}

}  // namespace alloctap::run
