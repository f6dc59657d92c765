// The body of RecordDump: linked by programs that write one.
#include "alloctap/dump/impl/record_dump.hpp"
