// What TextDump writes with suppressions.
#include "alloctap/dump/text/impl/text_suppressed.hpp"
