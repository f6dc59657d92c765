// The bodies of os/linux/ that stop and copy the process: linked by programs that look for
// unreachable blocks.
#include "alloctap/os/linux/impl/frozen_process.hpp"
#include "alloctap/os/linux/impl/thread_stops.hpp"
