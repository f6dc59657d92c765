/// Publication of the functions behind annotate.h to all modules of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/pe/native_annotation_slots.hpp"

namespace alloctap {

/// Returns the string that the program passed to a function of annotate.h; empty if `text` is null.
/// If `length` is `ALLOCTAP_ENDS_IN_ZERO`, the string ends at the first zero byte.
[[nodiscard]] inline std::string_view annotated_text(const char* text,
                                                     std::size_t length) noexcept {
  if (text == nullptr) return {};
  return length == ALLOCTAP_ENDS_IN_ZERO ? std::string_view(text) : std::string_view(text, length);
}

/// Stores pointers to the tracker's annotation functions in the annotation slots of every module.
/// The functions are process-wide. When a tracker stops, the pointers stay, but the functions have
/// no effect.
///
/// Constant-initialized, never destroyed. Control plane, thread-safe; never inside malloc. Acquires
/// only the loader's lock.
class OfferedAnnotations {
 public:
  /// Adds the non-null functions of `more`, then stores all added functions in each loaded module.
  static void offer(const alloctap_slots& more) noexcept;

  /// Withholds `functions`, which a library exports but its tracker does not need. Later calls of
  /// the other functions clear slots that the loader resolved to `functions`, unless `offer` added
  /// these functions.
  static void withhold(const alloctap_slots& functions) noexcept { withheld_ = functions; }

  /// Stores the functions in modules loaded since the last call.
  static void offer_to_new_modules() noexcept { native::visit_annotation_slots(&fill); }

  /// Stores the functions in the module at `address`. Called when the loader announces a module.
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

  /// Fills slots that are empty or have withheld functions. Keeps all other pointers.
  static void fill(alloctap_slots& slots) noexcept;

  static inline constinit alloctap_slots offered_{};
  /// Written before the process has threads.
  static inline constinit alloctap_slots withheld_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/event/impl/offered_annotations.hpp"
#endif
