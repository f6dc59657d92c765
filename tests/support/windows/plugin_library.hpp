/// The plugin of symbolized_plugin.cpp, loaded as a program of Windows does it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::testing {

/// Loads the library at `path`; frees it at the end, or before.
class PluginLibrary {
 public:
  explicit PluginLibrary(const std::string& path) : module_(::LoadLibraryA(path.c_str())) {
    REQUIRE(module_ != nullptr);
  }
  ~PluginLibrary() { close(); }
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  void close() {
    if (module_ != nullptr) ::FreeLibrary(module_);
    module_ = nullptr;
  }

  [[nodiscard]] std::uintptr_t start() const { return reinterpret_cast<std::uintptr_t>(module_); }

  /// The exported function of that name.
  template <class Function>
  [[nodiscard]] Function* function(const char* name) const {
    auto* const found = reinterpret_cast<void*>(::GetProcAddress(module_, name));
    REQUIRE(found != nullptr);
    return reinterpret_cast<Function*>(found);
  }

 private:
  HMODULE module_;
};

}  // namespace alloctap::testing
