// The other bodies of os/linux/.
#include "alloctap/os/linux/impl/file.hpp"
#include "alloctap/os/linux/impl/memory_map.hpp"
#include "alloctap/os/linux/impl/module_symbols.hpp"
#include "alloctap/os/linux/impl/process.hpp"
