#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/symbol/system_symbolizer.hpp"
#include "tests/support/windows/plugin_library.hpp"

#define ALLOCTAP_TEST_NAMING_SYMBOLIZERS alloctap::SystemSymbolizer

namespace alloctap::testing {

/// Of a small library, because Wine's DbgHelp faults on tests' own programs.
struct KnownFunction {
  PluginLibrary plugin{ALLOCTAP_PLUGIN_FIRST};
  std::uintptr_t address =
      reinterpret_cast<std::uintptr_t>(plugin.function<const void*()>("plugin_exported_place")()) -
      1;
  /// Behind which some have its parameters.
  std::string_view name = "first_build::exported";
};

}  // namespace alloctap::testing
