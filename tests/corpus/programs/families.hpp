#pragma once

#include "corpus.hpp"

namespace corpus {

/// Each adds its families' cases, good and bad ones. One file each, of the same name.
void add_double_free(Cases& cases);
void add_unknown_pointer(Cases& cases);
void add_mismatched_release(Cases& cases);
void add_told_to_delete(Cases& cases);
void add_out_of_bounds(Cases& cases);
void add_after_free(Cases& cases);
void add_realloc(Cases& cases);
void add_limits(Cases& cases);
void add_string_write(Cases& cases);
void add_string_read(Cases& cases);
void add_overlapping_copy(Cases& cases);
void add_leak(Cases& cases);
void add_held(Cases& cases);
void add_library(Cases& cases);
void add_freed_late(Cases& cases);

inline void add_portable_families(Cases& cases) {
  for (const auto add :
       {add_double_free, add_unknown_pointer, add_mismatched_release, add_told_to_delete,
        add_out_of_bounds, add_after_free, add_realloc, add_limits, add_string_write,
        add_string_read, add_overlapping_copy, add_leak, add_held, add_library, add_freed_late}) {
    add(cases);
  }
}

/// What only one system has: posix/families.cpp or windows/families.cpp.
void add_system_families(Cases& cases);

}  // namespace corpus
