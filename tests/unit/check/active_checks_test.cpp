#include <doctest/doctest.h>

#include <string>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/selectable_checks.hpp"

namespace {

using alloctap::CheckSettings;

std::string text_of(const CheckSettings& settings) {
  std::string text;
  alloctap::for_each_active_check(settings, [&](std::string_view name, std::uint64_t value) {
    text += text.empty() ? "" : " ";
    text += name;
    if (value > 0) text += "=" + std::to_string(value);
  });
  return text;
}

}  // namespace

TEST_CASE("checks that are on have names and values, whole blocks have none") {
  CHECK(text_of({}).empty());
  CHECK(
      text_of({.front_guard = 32, .fill_on_allocate = CheckSettings::kAllBytes, .abort_on = {}}) ==
      "front_guard=32 fill_on_alloc");
  CHECK(text_of({.kinds = true, .unknown_pointers = true, .strings = true, .abort_on = {}}) ==
        "verify_pointers verify_kinds string_checks");
}

TEST_CASE("what is on is read as the same settings again") {
  const std::string_view options[] = {
      "level5",           "level10",         "front_guard=1", "rear_guard=16384", "fill_on_alloc=9",
      "fill_on_free",     "expand_alloc=20", "free_track=7",  "verify_pointers",  "verify_kinds",
      "guard_pages=1000", "string_checks",   "guard=64 fill", "guard_pages=1",    "fill_on_free=8"};
  for (const std::string_view option : options) {
    CAPTURE(std::string(option));
    const auto settings = alloctap::parse_check_options(option);
    REQUIRE(settings.ok());
    CHECK(*alloctap::parse_check_options(text_of(*settings)) == *settings);
  }
}
