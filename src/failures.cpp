// The bodies of fail/.
#include "alloctap/fail/impl/active_fault_rules.hpp"
#include "alloctap/fail/impl/counted_rule.hpp"
#include "alloctap/fail/impl/failing_allocations.hpp"
