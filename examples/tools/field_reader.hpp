/// Reads the settings of alloctap-run, field by field.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace alloctap::run {

/// The enumerator with that name; false where there is none.
template <class Enum, std::size_t Count>
[[nodiscard]] constexpr bool find_name(const std::array<std::string_view, Count>& names,
                                       std::string_view name, Enum& value) noexcept {
  for (std::size_t i = 0; i < Count; ++i) {
    if (names[i] != name) continue;
    value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

/// Takes fields off the front of a text; every function returns false where the field is not there
/// or not what was asked for.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  [[nodiscard]] bool read_counted(std::size_t length, std::string_view& field) noexcept {
    if (length >= rest_.size() || rest_[length] != ';') return false;
    field = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return true;
  }

  [[nodiscard]] bool read(std::string_view& field) noexcept {
    const std::size_t length = rest_.find(';');
    return length != std::string_view::npos && read_counted(length, field);
  }

  template <class Integer>
  [[nodiscard]] bool read_number(Integer& value, Integer least, Integer most) noexcept {
    std::string_view field;
    if (!read(field)) return false;
    const char* begin = field.data();
    const char* end = begin + field.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc{} && stop == end && value >= least && value <= most;
  }

  template <class Enum, std::size_t Count>
  [[nodiscard]] bool read_name(const std::array<std::string_view, Count>& names,
                               Enum& value) noexcept {
    std::string_view field;
    return read(field) && find_name(names, field, value);
  }

 private:
  std::string_view rest_;
};

}  // namespace alloctap::run
