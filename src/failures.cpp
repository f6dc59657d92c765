// The bodies of fail/.
#include "alloctap/fail/impl/counted_rule.hpp"
#include "alloctap/fail/impl/failing_allocations.hpp"
#include "alloctap/fail/impl/rules_in_force.hpp"
