// The body of FoldedDump: linked by programs that write one.
#include "alloctap/dump/impl/folded_dump.hpp"
