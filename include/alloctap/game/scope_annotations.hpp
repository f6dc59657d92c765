/// Implementation of annotate.h's no-allocation scopes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/annotate.h"
#include "alloctap/game/scope_stack.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The functions that `no_allocation_scope` and `allocations_allowed` call. Control plane.
struct ScopeAnnotations {
  static void begin(alloctap_scope* scope, const char* name, std::size_t length,
                    const alloctap_scope_options* options) noexcept;

  static int end(const alloctap_scope* scope) noexcept;

  static int offends(const alloctap_scope* scope) noexcept {
    return node_of(*scope)->offends() ? 1 : 0;
  }

  static void begin_exception(alloctap_scope* scope) noexcept {
    push(*scope, "allowed", kAllAllowed, ScopeNode::State::kBarrier);
  }

 private:
  static constexpr AllocationLimit kNothingAllowed{.allowed = 0};
  static constexpr AllocationLimit kAllAllowed{};

  static void push(alloctap_scope& scope, std::string_view name, const AllocationLimit& limit,
                   ScopeNode::State state) noexcept;

  static ScopeNode* node_of(const alloctap_scope& scope) noexcept {
    return static_cast<ScopeNode*>(scope.node);
  }
};

}  // namespace alloctap

/// The function table for scopes of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_scope_functions alloctap_scopes{
    .size = sizeof(alloctap_scope_functions),
    .begin = &alloctap::ScopeAnnotations::begin,
    .end = &alloctap::ScopeAnnotations::end,
    .offends = &alloctap::ScopeAnnotations::offends,
    .begin_exception = &alloctap::ScopeAnnotations::begin_exception,
};

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/scope_annotations.hpp"
#endif
