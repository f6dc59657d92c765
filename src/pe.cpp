// The bodies of pe/.
#include "alloctap/pe/impl/native_function.hpp"
