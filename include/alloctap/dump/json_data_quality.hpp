/// The account of a report in JSON that has other things to tell.
#pragma once

#include <string_view>

#include "alloctap/dump/data_quality_list.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Adds `"alloctap": {"version", "account": [a text for each line]}` to the object that is open:
/// readers of such formats pass over keys that they do not know.
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
