// The bodies of LibdwSymbolizer: linked by programs that use it.
#include "alloctap/symbol/impl/libdw_symbolizer.hpp"
