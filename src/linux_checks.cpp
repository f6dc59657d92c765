// The bodies of os/linux/ that checks and patches need: signals of faults, protected pages.
#include "alloctap/os/linux/impl/memory_faults.hpp"
#include "alloctap/os/linux/impl/memory_protection.hpp"
#include "alloctap/os/linux/impl/patched_code.hpp"
