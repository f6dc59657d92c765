/// Code that must not allocate: what alloctap/annotate.hpp's `no_allocation_scope` begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/annotate.h"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/game/scope_offences.hpp"
#include "alloctap/game/scope_stack.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The functions of scopes of annotate.h. Not to be used inside a hook.
struct ScopeAnnotations {
  static void begin(alloctap_scope* scope, const char* name, std::size_t length,
                    const alloctap_scope_options* options) noexcept {
    push(*scope, annotated_text(name, length), kNothingAllowed, ScopeNode::State::kOpen);
    if (scope->node == nullptr || options == nullptr) return;
    node_of(*scope)->set_limit({.allowed = options->allowed,
                                .forbids_frees = options->forbids_frees != 0,
                                .aborts = options->aborts != 0,
                                .on_offence = options->on_offence});
  }

  static int end(const alloctap_scope* scope) noexcept {
    ScopeNode* const node = node_of(*scope);
    const bool offended = node->offends();
    if (offended) [[unlikely]] {
      scope_offences.add(*node);
    }
    ScopeStack::end({.node = node, .depth = scope->depth});
    return offended ? 1 : 0;
  }

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
                   ScopeNode::State state) noexcept {
    ScopeStack* const scopes = ScopeStack::mine();
    if (scopes == nullptr) return;
    const ScopePlace place = scopes->push(name, &limit, state);
    scope.node = place.node;
    scope.depth = place.depth;
  }

  static ScopeNode* node_of(const alloctap_scope& scope) noexcept {
    return static_cast<ScopeNode*>(scope.node);
  }
};

}  // namespace alloctap

/// The functions of scopes of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_scope_functions alloctap_scopes{
    .size = sizeof(alloctap_scope_functions),
    .begin = &alloctap::ScopeAnnotations::begin,
    .end = &alloctap::ScopeAnnotations::end,
    .offends = &alloctap::ScopeAnnotations::offends,
    .begin_exception = &alloctap::ScopeAnnotations::begin_exception,
};
