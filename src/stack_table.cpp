// The bodies of stack/ that keep stacks.
#include "alloctap/stack/impl/stack_table.hpp"
