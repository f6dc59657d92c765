// The bodies of sample/.
#include "alloctap/sample/impl/adjustable_sampling.hpp"
#include "alloctap/sample/impl/stack_estimates.hpp"
