// The bodies of meta/.
#include "alloctap/meta/impl/flat_hash_table.hpp"
#include "alloctap/meta/impl/mapping_container.hpp"
#include "alloctap/meta/impl/mapping_set.hpp"
#include "alloctap/record/impl/freed_totals.hpp"
#include "alloctap/record/impl/live_bytes.hpp"
#include "alloctap/record/impl/stack_totals.hpp"
