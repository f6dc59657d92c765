/// Function bodies of game/scope_annotations.hpp.
#pragma once

#include <cstddef>

#include "alloctap/annotate.h"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/game/scope_annotations.hpp"
#include "alloctap/game/scope_offences.hpp"
#include "alloctap/game/scope_stack.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void ScopeAnnotations::begin(alloctap_scope* scope, const char* name,
                                             std::size_t length,
                                             const alloctap_scope_options* options) noexcept {
  push(*scope, annotated_text(name, length), kNothingAllowed, ScopeNode::State::kOpen);
  if (scope->node == nullptr || options == nullptr) return;
  node_of(*scope)->set_limit({.allowed = options->allowed,
                              .forbids_frees = options->forbids_frees != 0,
                              .aborts = options->aborts != 0,
                              .on_offence = options->on_offence});
}

ALLOCTAP_INLINE int ScopeAnnotations::end(const alloctap_scope* scope) noexcept {
  ScopeNode* const node = node_of(*scope);
  const bool offended = node->offends();
  if (offended) [[unlikely]] {
    scope_offences.add(*node);
  }
  ScopeStack::end({.node = node, .depth = scope->depth});
  return offended ? 1 : 0;
}

ALLOCTAP_INLINE void ScopeAnnotations::push(alloctap_scope& scope, std::string_view name,
                                            const AllocationLimit& limit,
                                            ScopeNode::State state) noexcept {
  ScopeStack* const scopes = ScopeStack::mine();
  if (scopes == nullptr) return;
  const ScopePlace place = scopes->push(name, &limit, state);
  scope.node = place.node;
  scope.depth = place.depth;
}

}  // namespace alloctap
