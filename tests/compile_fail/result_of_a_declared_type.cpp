// EXPECT: the type of this result is only declared here: include the header of T
#include <alloctap/status.hpp>

struct Table;
struct Tables {
  static alloctap::Result<Table> tables();
};

#ifndef ALLOCTAP_COMPILE_FAIL
struct Table {};
#endif

bool has_tables() { return Tables::tables().ok(); }
