/// Definitions for game/allocation_scopes.hpp.
#pragma once

#include <cstring>
#include <mutex>

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/runtime/thread_state.hpp"

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

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void ScopeOffences::add(const ScopeNode& node) noexcept {
  // A fork waits until recording scopes end, so no child inherits a locked `lock_`.
  const RecordingScope section;
  const std::lock_guard hold(lock_);
  node.stacks.for_each([&](const StackCounts::Entry& entry) { add(node.name, entry); });
}

ALLOCTAP_INLINE bool ScopeOffences::copy_to(ArenaArray<OffenceSum>& list) const noexcept {
  const RecordingScope section;
  const std::lock_guard hold(lock_);
  for (std::size_t i = 0; i < size_; ++i) {
    if (!list.push_back(sums_[i])) return false;
  }
  return true;
}

ALLOCTAP_INLINE bool ScopeOffences::add_to(Snapshot& snapshot) const noexcept {
  snapshot.scopes_known = true;
  snapshot.left_out_scope_offences = left_out_;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!snapshot.scope_offences.push_back(sums_[i])) return false;
  }
  return true;
}

ALLOCTAP_INLINE std::uint64_t ScopeOffences::left_out() const noexcept {
  const RecordingScope section;
  const std::lock_guard hold(lock_);
  return left_out_;
}

ALLOCTAP_INLINE void ScopeOffences::clear() noexcept {
  const RecordingScope section;
  const std::lock_guard hold(lock_);
  size_ = 0;
  left_out_ = 0;
}

ALLOCTAP_INLINE void ScopeOffences::add(std::string_view name,
                                        const StackCounts::Entry& entry) noexcept {
  OffenceSum* const known = find_or_add(cut_text(name, OffenceSum::kLongestName), entry.stack);
  if (known == nullptr) {
    ++left_out_;
    return;
  }
  ++known->scopes;
  known->sums.allocations += entry.sums.allocations;
  known->sums.bytes += entry.sums.bytes;
  known->sums.frees += entry.sums.frees;
}

ALLOCTAP_INLINE OffenceSum* ScopeOffences::find_or_add(std::string_view name,
                                                       StackId stack) noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    if (sums_[i].stack == stack && sums_[i].scope() == name) return &sums_[i];
  }
  if (size_ == kMaxCount) return nullptr;
  OffenceSum& added = sums_[size_++];
  added = {};
  added.stack = stack;
  std::memcpy(added.name_text, name.data(), name.size());
  return &added;
}

}  // namespace alloctap
