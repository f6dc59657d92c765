/// The data-quality statements of a report as a member in another tool's JSON format.
#pragma once

#include <string_view>

#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Adds the key "alloctap" to the open object: {"version", "account": [statements as strings]}.
/// Readers of other tools' formats ignore unknown keys.
inline void write_json_account(const AccountList& account, JsonBuilder& json) {
  json.key("alloctap");
  json.begin_object();
  json.text("version", kVersionString);
  json.key("account");
  json.begin_array();
  account.for_each([&](std::string_view line) { json.string(line); });
  json.end_array();
  json.end_object();
}

}  // namespace alloctap
