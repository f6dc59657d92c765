// The body of MatrixLogDump: linked by programs that write one.
#include "alloctap/dump/impl/matrix_log_dump.hpp"
