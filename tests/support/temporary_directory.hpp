/// A directory for the files of one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

namespace alloctap::testing {

/// Made empty, and removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const std::filesystem::path parent = std::filesystem::temp_directory_path();
    std::random_device random;
    // It makes none where there is one.
    constexpr int kMaxTries = 100;
    for (int i = 0; i < kMaxTries; ++i) {
      path_ = parent / ("alloctap-test-" + std::to_string(random()));
      if (std::filesystem::create_directory(path_)) return;
    }
    std::abort();
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  /// The path of `name` inside.
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace alloctap::testing
