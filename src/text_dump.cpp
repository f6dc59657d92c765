// The body of TextDump.
#include "alloctap/dump/impl/text_dump.hpp"
