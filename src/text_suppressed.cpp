// What TextDump writes with suppressions.
#include "alloctap/dump/impl/text_suppressed.hpp"
