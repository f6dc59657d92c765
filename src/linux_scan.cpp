// The bodies of os/linux/ that stop and copy the process: linked by programs that look for
// unreachable blocks.
#include "alloctap/os/linux/impl/frozen_process.hpp"
#include "alloctap/os/linux/impl/task_list.hpp"
#include "alloctap/os/linux/impl/thread_stops.hpp"
#include "alloctap/os/linux/impl/unforked_memory.hpp"
