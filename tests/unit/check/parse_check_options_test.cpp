#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "alloctap/check/checks.hpp"
#include "alloctap/check/selectable_checks.hpp"

using alloctap::CheckOption;
using alloctap::CheckSettings;
using alloctap::kAbsentCheckOptions;
using alloctap::kCheckOptions;
using alloctap::MisuseKind;
using alloctap::MisuseKinds;
using alloctap::parse_check_options;

namespace {

CheckSettings settings_of(const std::string& text) {
  const auto settings = parse_check_options(text);
  REQUIRE_MESSAGE(settings.ok(), settings.status().message());
  return *settings;
}

std::string problem_of(const std::string& text) {
  const auto settings = parse_check_options(text);
  REQUIRE_FALSE(settings.ok());
  return std::string(settings.status().message());
}

}  // namespace

TEST_CASE("guard pages are for each block, or for one in so many, at any edge") {
  CHECK(settings_of("guard_pages").guard_pages == 1);
  CHECK(settings_of("guard_pages").guard_edge == alloctap::PageEdge::kRight);
  const CheckSettings left = settings_of("level10 guard_pages=100,guard_pages_left");
  CHECK(left.guard_pages == 100);
  CHECK(left.guard_edge == alloctap::PageEdge::kLeft);
  CHECK(left.quarantine_blocks == 100);
  CHECK(settings_of("guard_pages_random").guard_edge == alloctap::PageEdge::kRandom);
  CHECK(settings_of("outlive_faults").outlives_faults);
  CHECK_FALSE(settings_of("guard_pages").blocks);
}

TEST_CASE("no text asks for nothing") {
  CHECK(settings_of("") == CheckSettings{});
  CHECK(settings_of(" , ") == CheckSettings{});
}

TEST_CASE("each option alone has its default, and its least and its most value are taken") {
  for (const CheckOption& option : kCheckOptions) {
    const std::string name(option.name);
    CAPTURE(name);
    CHECK(parse_check_options(name).ok());
    if (option.value == CheckOption::Value::kNone) {
      CHECK(problem_of(name + "=1") == name + ": takes no value; write it alone");
      continue;
    }
    if (option.value == CheckOption::Value::kKinds) continue;
    CHECK(parse_check_options(name + "=" + std::to_string(option.least)).ok());
    CHECK(parse_check_options(name + "=" + std::to_string(option.most)).ok());
    const std::string range = " is no whole number from " + std::to_string(option.least) + " to " +
                              std::to_string(option.most);
    if (option.least > 0) CHECK(problem_of(name + "=0") == name + ": \"0\"" + range);
    if (option.most < UINT64_MAX) {
      const std::string above = std::to_string(option.most + 1);
      CHECK(problem_of(name + "=" + above) == name + ": \"" + above + "\"" + range);
    }
    for (const char* bad : {"", "x", "0x10", "-1", "1.5", "12a", "99999999999999999999999"}) {
      CAPTURE(bad);
      CHECK(problem_of(name + "=" + bad) == name + ": \"" + bad + "\"" + range);
    }
  }
}

TEST_CASE("options put their values where they belong") {
  CHECK(settings_of("front_guard").front_guard == 32);
  CHECK(settings_of("rear_guard=5").rear_guard == 5);
  CHECK(settings_of("guard=64").front_guard == 64);
  CHECK(settings_of("guard=64").rear_guard == 64);
  CHECK(settings_of("fill=7").fill_on_allocate == 7);
  CHECK(settings_of("fill=7").fill_on_free == 7);
  CHECK(settings_of("expand_alloc").expand == 16);
  CHECK_FALSE(settings_of("expand_alloc fill_on_alloc").blocks);
  CHECK(settings_of("free_track").quarantine_blocks == 100);
  CHECK(settings_of("free_track").fill_on_free == CheckSettings::kAllBytes);
  CHECK(settings_of("fill_on_free=9,free_track=3").fill_on_free == 9);
  CHECK(settings_of("verify_pointers").unknown_pointers);
  CHECK(settings_of("verify_kinds").kinds);
}

TEST_CASE("all faults end the program, or those of some kinds") {
  CHECK(settings_of("level10").abort_on.empty());
  CHECK(settings_of("abort_on_error").abort_on == MisuseKinds::all());
  CHECK(settings_of("guard, abort_on_error = double_free+write_behind").abort_on ==
        MisuseKinds{MisuseKind::kDoubleFree, MisuseKind::kWriteBehind});
  CHECK(settings_of("abort_on_error=wrong_size,abort_on_error=wrong_heap").abort_on ==
        MisuseKinds{MisuseKind::kWrongSize, MisuseKind::kWrongHeap});
  const std::string problem = problem_of("abort_on_error=double_free+leak gurad");
  CHECK(
      problem.starts_with("abort_on_error: \"leak\" is no kind of fault; write it alone, or some "
                          "of double_free, unknown_pointer, "));
  CHECK(problem.find(", overlapping_copy with + between them; gurad: is unknown") != problem.npos);
  CHECK(problem_of("abort_on_error=").starts_with("abort_on_error: \"\" is no kind of fault"));
  CHECK(problem_of("abort_on_error=double_free+").find("\"\" is no kind") != problem.npos);
}

TEST_CASE("the levels are those that are chosen at compile time") {
  CHECK(settings_of("level1") == alloctap::Level1::settings());
  CHECK(settings_of("level5") == alloctap::Level5::settings());
  CHECK(settings_of("level10") == alloctap::Level10::settings());
}

TEST_CASE("options stand between spaces or commas, and spaces around '='") {
  const CheckSettings expected = settings_of("guard=64 free_track verify_kinds");
  CHECK(settings_of("guard = 64,free_track,verify_kinds") == expected);
  CHECK(settings_of("  guard =64   free_track ,\tverify_kinds ") == expected);
}

TEST_CASE("what malloc_debug has and we have not is named, with what to do instead") {
  for (const auto& absent : kAbsentCheckOptions) {
    const std::string name(absent.name);
    const std::string why = ": is not to be had here: " + std::string(absent.why);
    CHECK(problem_of(name) == name + why);
    if (absent.alias.empty()) continue;
    CHECK(problem_of(std::string(absent.alias) + "=3") == std::string(absent.alias) + why);
  }
}

TEST_CASE("all problems are told at once, and nothing is half set") {
  const std::string problems = problem_of("guard=0 gurad verify_kinds=2 fill");
  CHECK(
      problems.starts_with("guard: \"0\" is no whole number from 1 to 16384; gurad: is unknown; "
                           "did you mean guard?; verify_kinds: takes no value"));
  CHECK(problems.ends_with("; verify_kinds: takes no value; write it alone"));
  CHECK(problem_of("=5").starts_with(": is unknown"));
}

TEST_CASE("an unknown name is answered with the close one, or with all that have an effect") {
  CHECK(problem_of("rear_gaurd=5") == "rear_gaurd: is unknown; did you mean rear_guard?");
  CHECK(problem_of("FillOnFree") == "FillOnFree: is unknown; did you mean fill_on_free?");
  CHECK(problem_of("quarantine") ==
        "quarantine: is unknown; write some of front_guard, rear_guard, guard, fill_on_alloc, "
        "fill_on_free, fill, expand_alloc, free_track, verify_pointers, verify_kinds, guard_pages, "
        "guard_pages_left, guard_pages_random, outlive_faults, string_checks, abort_on_error, "
        "level5, level10");
  CHECK(problem_of("leak_trakc").find("leak_track,") == std::string::npos);
}
