// The body of MassifDump: linked by programs that write one.
#include "alloctap/dump/impl/massif_dump.hpp"
