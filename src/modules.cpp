// The bodies of hook/ that choose modules and write to them.
#include "alloctap/hook/impl/module_selection.hpp"
#include "alloctap/hook/plt/impl/target.hpp"
