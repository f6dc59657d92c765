/// Summaries of a snapshot in JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/snapshot/snapshot_fields.hpp"

namespace alloctap {

inline void write_field(JsonBuilder& json, const std::optional<std::uint64_t>& number) {
  json.value_or_null(number);
}
inline void write_field(JsonBuilder& json, std::uint64_t number, std::uint64_t nothing) {
  json.value_unless(number, nothing);
}
template <std::integral Number>
void write_field(JsonBuilder& json, Number number) {
  if constexpr (std::same_as<Number, bool>) {
    json.value(number);
  } else if constexpr (std::signed_integral<Number>) {
    json.value(std::int64_t{number});
  } else {
    json.value(std::uint64_t{number});
  }
}

/// Writes the fields of `summary` as members of the open object.
template <class Summary>
void write_fields(JsonBuilder& json, const Summary& summary) {
  visit_fields(summary, [&json](const char* name, const auto& field, auto... nothing) {
    json.key(name);
    write_field(json, field, nothing...);
  });
}

/// Writes `summary` as the member `name`, an object.
template <class Summary>
void write_object(JsonBuilder& json, const char* name, const Summary& summary) {
  json.key(name);
  json.begin_object();
  write_fields(json, summary);
  json.end_object();
}

}  // namespace alloctap
