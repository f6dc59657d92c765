#include <doctest/doctest.h>

#include <string>

#include "alloctap/os/windows/symbol_library.hpp"

using alloctap::os::DbgHelp;

TEST_CASE("DbgHelp has all functions, those for inlined ones too, in a session of its own") {
  const DbgHelp& library = DbgHelp::get();
  CHECK(library.error == 0);
  CHECK(library.tells_inlined());
  CHECK(DbgHelp::session() != ::GetCurrentProcess());
  CHECK(&DbgHelp::get() == &library);
}

TEST_CASE("a library that is nowhere, or another one, is an error with Windows' words") {
  const DbgHelp nowhere = DbgHelp::load(L"alloctap_no_such_library.dll");
  CHECK(nowhere.error != 0);
  CHECK(alloctap::os::text_of_error(-nowhere.error) != std::string("unknown error"));
  const DbgHelp other = DbgHelp::load(L"version.dll");
  CHECK(other.error != 0);
  CHECK_FALSE(other.tells_inlined());
}
