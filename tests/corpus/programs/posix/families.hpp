#pragma once

#include "../corpus.hpp"

namespace corpus {

void add_c_library(Cases& cases);
void add_posix_holders(Cases& cases);
void add_posix_limits(Cases& cases);
void add_posix_strings(Cases& cases);
void add_fork(Cases& cases);
void add_thread_keys(Cases& cases);
void add_usable_size(Cases& cases);

}  // namespace corpus
