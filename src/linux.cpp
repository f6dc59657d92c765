// The other bodies of os/linux/.
#include "alloctap/os/linux/impl/find_module.hpp"
#include "alloctap/os/linux/impl/memory_map.hpp"
#include "alloctap/os/linux/impl/output_path.hpp"
#include "alloctap/os/linux/impl/own_proc_path.hpp"
#include "alloctap/os/linux/impl/process.hpp"
