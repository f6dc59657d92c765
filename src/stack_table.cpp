// The bodies of stack/ that keep stacks.
#include "alloctap/stack/impl/stack_table.hpp"

#include "alloctap/stack/impl/stack_storage.hpp"
