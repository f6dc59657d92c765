// The bodies of stack/ that read unwind tables.
#include "alloctap/stack/impl/full_unwind_stack.hpp"
#include "alloctap/stack/impl/unwind_rules.hpp"
#include "alloctap/stack/impl/unwind_step.hpp"
#include "alloctap/stack/impl/unwind_table_stack.hpp"
