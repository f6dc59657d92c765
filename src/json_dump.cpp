// The body of JsonDump: linked by programs that write one.
#include "alloctap/dump/impl/json_dump.hpp"
