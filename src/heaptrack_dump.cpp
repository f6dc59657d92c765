// The body of HeaptrackDump: linked by programs that write one.
#include "alloctap/dump/impl/heaptrack_dump.hpp"
