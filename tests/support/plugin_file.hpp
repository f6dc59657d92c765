/// A build of the plugin of symbolized_plugin.cpp in a file that can be built anew.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.hpp"

namespace alloctap::testing {

/// A copy of a build of the plugin in a directory of its own.
struct PluginFile {
  explicit PluginFile(const char* build) : path(directory.file("plugin.so")) {
    std::filesystem::copy_file(build, path);
  }

  /// As a linker does: the old file lives on where it is mapped.
  void replace_by(const char* build) const {
    std::filesystem::remove(path);
    std::filesystem::copy_file(build, path);
  }

  TemporaryDirectory directory;
  std::string path;
};

}  // namespace alloctap::testing
