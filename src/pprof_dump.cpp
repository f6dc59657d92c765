// The body of PprofDump: linked by programs that write one.
#include "alloctap/dump/impl/pprof_dump.hpp"
