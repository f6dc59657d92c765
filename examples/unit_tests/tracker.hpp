// The tracker of the examples of unit tests; each program places its hook in one source file.
#pragma once

#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/libdw_symbolizer.hpp>
#include <alloctap/testing/test_config.hpp>

struct Config : alloctap::testing::TestConfig {
  using Hook = alloctap::InterposeHook;
  using Symbolizer = alloctap::LibdwSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
