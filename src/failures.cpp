// The bodies of fail/.
#include "alloctap/fail/impl/active_fault_rules.hpp"
#include "alloctap/fail/impl/injected_failures.hpp"
