#include "families.hpp"

#include "../families.hpp"

namespace corpus {

void add_system_families(Cases& cases) {
  for (const auto add : {add_c_library, add_posix_holders, add_posix_limits, add_posix_strings,
                         add_fork, add_thread_keys, add_usable_size}) {
    add(cases);
  }
}

}  // namespace corpus
