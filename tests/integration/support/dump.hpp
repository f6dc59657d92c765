/// A report in JSON, as a reader sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace alloctap::testing {

using Json = nlohmann::json;

/// The sums that reports and valgrind both tell.
struct HeapUsage {
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t live_bytes = 0;

  bool operator==(const HeapUsage&) const = default;
};

class Dump {
 public:
  /// Throws where `path` holds no JSON.
  explicit Dump(const std::string& path) : json_(parse(path)) {}

  [[nodiscard]] const Json& json() const { return json_; }
  [[nodiscard]] std::uint64_t total(const char* key) const { return number("totals", key); }
  [[nodiscard]] std::uint64_t account(const char* key) const { return number("account", key); }

  [[nodiscard]] HeapUsage usage() const {
    return {.allocations = total("allocations"),
            .deallocations = total("deallocations"),
            .allocated_bytes = total("allocated_bytes"),
            .live_bytes = total("live_bytes")};
  }

  /// The functions of a stack of the report, leaf first; "?" where the name is not known.
  [[nodiscard]] std::vector<std::string> functions(const Json& stack) const {
    std::vector<std::string> names;
    for (const Json& index : stack.at("frames")) {
      const Json& name = frame(index).at("function");
      names.push_back(name.is_null() ? "?" : base_name(name.get<std::string>()));
    }
    return names;
  }

  /// The stacks with `function` among their frames.
  [[nodiscard]] std::vector<Json> stacks_through(std::string_view function) const {
    std::vector<Json> found;
    for (const Json& stack : json_.at("stacks")) {
      for (const std::string& name : functions(stack)) {
        if (name != function) continue;
        found.push_back(stack);
        break;
      }
    }
    return found;
  }

  [[nodiscard]] const Json& frame(const Json& index) const {
    return json_.at("frames").at(index.get<std::size_t>());
  }

 private:
  static Json parse(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("there is no report at " + path);
    return Json::parse(file);
  }

  [[nodiscard]] std::uint64_t number(const char* section, const char* key) const {
    return json_.at(section).at(key).get<std::uint64_t>();
  }

  /// Without the argument list that ends a demangled name.
  static std::string base_name(const std::string& name) {
    return name.ends_with(')') ? name.substr(0, name.rfind('(')) : name;
  }

  Json json_;
};

}  // namespace alloctap::testing
