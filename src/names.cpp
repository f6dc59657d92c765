// The bodies of symbol/ that demangle.
#include "alloctap/symbol/impl/demangled_names.hpp"
#include "alloctap/symbol/impl/system_symbolizer.hpp"
