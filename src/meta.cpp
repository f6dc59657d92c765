// The bodies of meta/.
#include "alloctap/meta/impl/flat_hash_table.hpp"
#include "alloctap/meta/impl/freed_totals.hpp"
#include "alloctap/meta/impl/live_bytes.hpp"
#include "alloctap/meta/impl/mapping_container.hpp"
#include "alloctap/meta/impl/mapping_set.hpp"
#include "alloctap/meta/impl/stack_totals.hpp"
