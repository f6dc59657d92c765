#include "launcher/needed_libraries.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "launcher/elf_file.hpp"

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value != nullptr ? value : "";
}

/// /etc/ld.so.cache, where ldconfig has put the libraries of all directories that the system names.
/// Format: glibc, sysdeps/generic/dl-cache.h.
class LoaderCache {
 public:
  LoaderCache() {
    std::ifstream file("/etc/ld.so.cache", std::ios::binary | std::ios::ate);
    const auto size = static_cast<std::streamoff>(file.tellg());
    if (size <= 0) return;
    bytes_.resize(static_cast<std::size_t>(size));
    file.seekg(0).read(bytes_.data(), size);
    const std::size_t start = bytes_.find("glibc-ld.so.cache1.1");
    bytes_.erase(0, std::min(start, bytes_.size()));
    if (bytes_.size() < kHeaderBytes) bytes_.clear();
  }

  /// The files that have that name, of whatever kind of machine.
  [[nodiscard]] std::vector<std::string> find(const std::string& name) const {
    std::vector<std::string> paths;
    const std::size_t count = bytes_.empty() ? 0 : number_at(kCountOffset);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t entry = kHeaderBytes + i * kEntryBytes;
      if (entry + kEntryBytes > bytes_.size()) break;
      // Of its '\0' too.
      const std::size_t key = number_at(entry + kKeyOffset);
      const std::size_t size = name.size() + 1;
      if (key >= bytes_.size() || bytes_.compare(key, size, name.c_str(), size) != 0) continue;
      paths.emplace_back(text_at(number_at(entry + kValueOffset)));
    }
    return paths;
  }

 private:
  static constexpr std::size_t kCountOffset = 20;
  static constexpr std::size_t kHeaderBytes = 48;
  static constexpr std::size_t kEntryBytes = 24;
  static constexpr std::size_t kKeyOffset = 4;
  static constexpr std::size_t kValueOffset = 8;

  [[nodiscard]] std::uint32_t number_at(std::size_t offset) const {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes_.data() + offset, sizeof number);
    return number;
  }

  [[nodiscard]] std::string_view text_at(std::size_t offset) const {
    return offset < bytes_.size() ? std::string_view(bytes_.c_str() + offset) : std::string_view();
  }

  std::string bytes_;
};

/// Follows what each file needs, as the loader does, breadth first.
class NeededSearch {
 public:
  explicit NeededSearch(const std::string& program) {
    const std::vector<std::string> preloaded =
        absl::StrSplit(variable("LD_PRELOAD"), absl::ByAnyChar(" :"), absl::SkipEmpty());
    for (const std::string& name : preloaded) add(name, "", "");
    visit(program);
    for (std::size_t i = 0; i < files_.size(); ++i) visit(std::string(files_[i]));
  }

  [[nodiscard]] std::vector<std::string> take_names() { return std::move(names_); }

 private:
  void visit(const std::string& path) {
    const NeededNames needed = ElfFile(path).needed();
    const std::string origin = fs::path(path).parent_path();
    for (const std::string& name : needed.names) add(name, needed.run_path, origin);
  }

  void add(const std::string& name, const std::string& run_path, const std::string& origin) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
    names_.push_back(name);
    std::string file = find_file(name, run_path, origin);
    if (!file.empty()) files_.push_back(std::move(file));
  }

  [[nodiscard]] std::string find_file(const std::string& name, const std::string& run_path,
                                      const std::string& origin) const {
    if (name.find('/') != name.npos) return name;
    const std::string own =
        absl::StrReplaceAll(run_path, {{"$ORIGIN", origin}, {"${ORIGIN}", origin}});
    for (const std::string& list : {own, variable("LD_LIBRARY_PATH")}) {
      const std::string found = find_in(list, name);
      if (!found.empty()) return found;
    }
    for (std::string& path : cache_.find(name)) {
      if (ElfFile(path).is_native()) return std::move(path);
    }
    return find_in("/lib64:/usr/lib64:/lib:/usr/lib", name);
  }

  static std::string find_in(const std::string& directories, const std::string& name) {
    const std::vector<std::string> list = absl::StrSplit(directories, absl::ByAnyChar(":;"));
    for (const std::string& directory : list) {
      if (directory.empty()) continue;
      std::string path = fs::path(directory) / name;
      if (ElfFile(path).is_native()) return path;
    }
    return "";
  }

  LoaderCache cache_;
  std::vector<std::string> names_;
  std::vector<std::string> files_;
};

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  return NeededSearch(path).take_names();
}

}  // namespace alloctap::run
