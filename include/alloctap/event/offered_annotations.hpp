/// What the trackers of this process offer to annotate.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/pe/native_annotation_slots.hpp"

namespace alloctap {

/// The text that a function of annotate.h was given; empty where there is none.
[[nodiscard]] inline std::string_view annotated_text(const char* text,
                                                     std::size_t length) noexcept {
  if (text == nullptr) return {};
  return length == ALLOCTAP_ENDS_IN_ZERO ? std::string_view(text) : std::string_view(text, length);
}

/// Gives every module the functions that trackers offer. They belong to the process, and do nothing
/// if no tracker records, so they stay when a tracker stops. Constant-initialized, never
/// destroyed. Control plane, thread-safe; never inside malloc. Takes no lock but the loader's.
class OfferedAnnotations {
 public:
  /// Adds those of `more` that are not null, and gives all to each module that is loaded now.
  static void offer(const alloctap_slots& more) noexcept;

  /// Takes `functions` from modules to which the loader gave them, now and later, unless they are
  /// offered: for libraries that export more than their tracker needs. Takes effect on modules
  /// that are loaded already with the next call of a function of this class.
  static void withhold(const alloctap_slots& functions) noexcept { withheld_ = functions; }

  /// Gives them to modules that have come since.
  static void offer_to_new_modules() noexcept { native::visit_annotation_slots(&fill); }

  /// Gives them to the module at `address`, of which the loader gives notice.
  static void offer_to(std::uintptr_t address) noexcept {
    native::visit_annotation_slots_of(address, &fill);
  }

 private:
  template <class Function>
  static void for_each_slot(alloctap_slots& slots, auto& others, Function&& function) noexcept {
    function(slots.tags, others.tags);
    function(slots.frames, others.frames);
    function(slots.scopes, others.scopes);
    function(slots.fibers, others.fibers);
    function(slots.sessions, others.sessions);
    function(slots.pools, others.pools);
  }

  /// What the loader resolved stays as it is, unless it is withheld.
  static void fill(alloctap_slots& slots) noexcept;

  static inline constinit alloctap_slots offered_{};
  /// Written before there are threads.
  static inline constinit alloctap_slots withheld_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/event/impl/offered_annotations.hpp"
#endif
