// The bodies of status.hpp.
#include "alloctap/impl/status.hpp"
