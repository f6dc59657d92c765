/// Patches that last as long as the process.
#pragma once

#include <absl/status/status.h>

#include <alloctap/guard/arena.hpp>
#include <alloctap/hook/function_patch.hpp>
#include <new>
#include <utility>

namespace alloctap::run {

/// Calls of the function at `target` lead to `replacement` from now on, and `original` is set
/// before the first of them. Control plane.
template <class Function>
[[nodiscard]] absl::Status patch_for_good(const PatchTarget& target, Function* replacement,
                                          Function*& original) {
  auto patch = FunctionPatch::prepare(target, reinterpret_cast<const void*>(replacement));
  if (!patch.ok()) return patch.status();
  original = patch->original(replacement);
  if (absl::Status status = patch->enable(); !status.ok()) return status;
  void* const place = Arena::allocate(sizeof(FunctionPatch));
  if (place == nullptr) return absl::ResourceExhaustedError("the system has no memory");
  ::new (place) FunctionPatch(*std::move(patch));
  return absl::OkStatus();
}

}  // namespace alloctap::run
