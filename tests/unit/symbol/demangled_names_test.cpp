#include "alloctap/symbol/demangled_names.hpp"

#include <doctest/doctest.h>

using alloctap::DemangledNames;

TEST_CASE("a symbol is shown as its author wrote it") {
  DemangledNames names;
  CHECK(names.of("_ZN4game5Level4loadEPKc") == "game::Level::load(char const*)");
  CHECK(names.of("_RNvXs_CskN_5namesNtB4_5StoreNtB4_4Grow4grow") ==
        "<names::Store as names::Grow>::grow");
  CHECK(names.of("_ZN44_$LT$names..Store$u20$as$u20$names..Grow$GT$4grow17h0123456789abcdefE") ==
        "<names::Store as names::Grow>::grow");
  CHECK(names.of("_Rnonsense") == "_Rnonsense");
  CHECK(names.of("main") == "main");
  CHECK(names.of("i") == "i");
  CHECK(names.of("_Znonsense") == "_Znonsense");
  CHECK(names.of("__libc_start_main@@GLIBC_2.34") == "__libc_start_main");
}

TEST_CASE("a symbol is demangled once") {
  DemangledNames names;
  const char* symbol = "_ZN4game5Level4loadEPKc";
  CHECK(names.of(symbol).data() == names.of(symbol).data());
}
