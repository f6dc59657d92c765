#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include "alloctap/symbol/absl_symbolizer.hpp"
#include "alloctap/symbol/libdw_symbolizer.hpp"

#define ALLOCTAP_TEST_NAMING_SYMBOLIZERS alloctap::AbslSymbolizer, alloctap::LibdwSymbolizer

namespace alloctap::testing {

struct KnownFunction {
  std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&std::terminate);
  std::string_view name = "std::terminate()";
};

}  // namespace alloctap::testing
