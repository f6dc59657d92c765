// The body of ChromeTraceDump: linked by programs that write one.
#include "alloctap/dump/impl/chrome_trace_dump.hpp"
