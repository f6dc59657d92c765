// The body of AndroidHeapDump: linked by programs that write one.
#include "alloctap/dump/impl/android_heap_dump.hpp"
