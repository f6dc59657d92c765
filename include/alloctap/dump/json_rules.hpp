/// Suppression rules in schema alloctap.heap/1.
#pragma once

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/snapshot/suppressions.hpp"

namespace alloctap {

/// Writes `rule` as members of the open object.
inline void write_members(JsonBuilder& json, const SuppressionRule& rule) {
  json.text("subject", rule.subject);
  json.key("only");
  json.value(rule.only);
  json.text("pattern", rule.pattern);
  json.text("source", rule.source);
  json.number("line", rule.line);
}

}  // namespace alloctap
