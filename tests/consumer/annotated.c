/* A library in C that knows of no tracker. */
#include <alloctap/annotate.h>

void load_level(void) { alloctap_mark("loaded by C"); }
