#include "alloctap/check/check_settings.hpp"

#include <doctest/doctest.h>

TEST_CASE("all settings but guard pages have to do with every block or call") {
  const auto touches = [](auto change) {
    alloctap::CheckSettings settings;
    change(settings);
    return settings.touches_all();
  };
  CHECK_FALSE(touches([](auto&) {}));
  CHECK_FALSE(touches([](auto& settings) { settings.guard_pages = 1000; }));
  CHECK(touches([](auto& settings) { settings.blocks = true; }));
  CHECK(touches([](auto& settings) { settings.strings = true; }));
  CHECK(touches([](auto& settings) { settings.front_guard = 16; }));
  CHECK(touches([](auto& settings) { settings.rear_guard = 1; }));
  CHECK(touches([](auto& settings) { settings.expand = 1; }));
  CHECK(touches([](auto& settings) { settings.fill_on_allocate = 1; }));
}
