// Around the main of unit tests in README.md: its headers, and a test case that leaks.
#define DOCTEST_CONFIG_IMPLEMENT
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/libdw_symbolizer.hpp>
#include <alloctap/testing/doctest_adapter.hpp>
#include <alloctap/testing/test_config.hpp>

// The page's lines.

static char* copied_word;
TEST_CASE("words are counted") {
  copied_word = new char[24];
  CHECK(copied_word != nullptr);
}
