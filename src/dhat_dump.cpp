// The body of DhatDump: linked by programs that write one.
#include "alloctap/dump/impl/dhat_dump.hpp"
