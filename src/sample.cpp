// The bodies of sample/.
#include "alloctap/sample/impl/sampled_blocks.hpp"
