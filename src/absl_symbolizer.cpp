// The bodies of AbslSymbolizer: linked by programs that use it.
#include "alloctap/symbol/impl/absl_symbolizer.hpp"
