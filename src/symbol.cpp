// The bodies of symbol/, but for those that need a library of their own.
#include "alloctap/symbol/impl/module_history.hpp"
#include "alloctap/symbol/impl/module_table.hpp"
#include "alloctap/symbol/impl/symbols.hpp"
