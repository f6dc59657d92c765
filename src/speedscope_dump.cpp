// The body of SpeedscopeDump: linked by programs that write one.
#include "alloctap/dump/impl/speedscope_dump.hpp"
