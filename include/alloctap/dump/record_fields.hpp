/// Summaries of a snapshot in a recording.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "alloctap/dump/record_format.hpp"
#include "alloctap/dump/record_reader.hpp"
#include "alloctap/dump/record_writer.hpp"
#include "alloctap/snapshot/snapshot_fields.hpp"

namespace alloctap {

template <class Summary>
inline constexpr Summary kEmpty{};

/// Table columns, one for each field of each type in `Summaries`.
template <class... Summaries>
inline constexpr auto kFieldColumns = [] {
  const auto for_each_field = [](auto&& visit) { (visit_fields(kEmpty<Summaries>, visit), ...); };
  constexpr std::size_t count = [&] {
    std::size_t fields = 0;
    for_each_field([&](const char*, const auto&, auto...) { ++fields; });
    return fields;
  }();
  std::array<RecordColumn, count> columns{};
  std::size_t next = 0;
  for_each_field([&]<class Field>(const char* name, const Field&, auto...) {
    columns[next++] = {std::is_signed_v<Field> ? RecordKind::kSigned : RecordKind::kNumber, name};
  });
  return columns;
}();

/// Writes the fields of `summary` as values of the open row.
template <class Summary>
void write_values(RecordWriter& record, const Summary& summary) {
  visit_fields(summary, [&](const char*, const auto& field, auto...) { record.value(field); });
}

/// Reads the fields of `summary` from a row.
template <class Summary>
void read_values(const RecordReader& row, Summary& summary) {
  visit_fields(summary, [&]<class Field>(const char* name, Field& field, auto...) {
    if constexpr (std::is_signed_v<Field>) {
      field = static_cast<Field>(row.signed_number(name));
    } else {
      field = static_cast<Field>(row.number(name));
    }
  });
}

}  // namespace alloctap
