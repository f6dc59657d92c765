// The bodies of sample/.
#include "alloctap/sample/impl/stack_estimates.hpp"
