// The body of MatrixDump: linked by programs that write one.
#include "alloctap/dump/impl/matrix_dump.hpp"
