/// The values that an option can have, noted in the table of options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace alloctap::run {

/// Notes them as the name of a type, which help does not show for an option that has a text.
inline CLI::Option* note_values(CLI::Option* option, std::span<const std::string_view> values) {
  std::string type;
  for (const std::string_view value : values) type.append(type.empty() ? "" : "|").append(value);
  return option->type_name(type);
}

/// Returns the noted values; nothing where there is no such list.
[[nodiscard]] inline std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> values;
  if (type.find('|') == std::string::npos) return values;
  for (std::size_t start = 0; start <= type.size();) {
    const std::size_t end = type.find('|', start);
    values.push_back(type.substr(start, end - start));
    start = end == std::string::npos ? type.size() + 1 : end + 1;
  }
  return values;
}

}  // namespace alloctap::run
