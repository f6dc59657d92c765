#include "examples/tools/settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace {

using namespace alloctap::run;

/// Holds whatever could be mistaken for the end of something.
constexpr std::string_view kHostilePath =
    "/tmp/a b;c=d\ne%p%%f:12;\xff\xfe\x80/;;0;text;replace;3;/x;\t'\"\\$HOME\x01";

Settings every_field() {
  Settings settings{.root_pid = 2147483647,
                    .follow_children = true,
                    .stack = StackChoice::kFramePointer,
                    .max_frames = kMaxFrames,
                    .mean_bytes = kMaxMeanBytes,
                    .min_size = 12,
                    .max_size = UINT64_MAX - 1,
                    .event_bytes = UINT64_MAX - 2,
                    .tags = true,
                    .interval_ns = kLongestInterval,
                    .threshold_bytes = UINT64_MAX,
                    .dump_signal = SIGUSR2,
                    .checks = "guard=64,fill;x",
                    .error_exit_code = 77,
                    .dump_count = 3};
  settings.dumps[0] = {format_of<alloctap::TextDump>, WriteMode::kReplace, kHostilePath};
  settings.dumps[1] = {format_of<alloctap::JsonDump>, WriteMode::kAppend, "/"};
  settings.dumps[2] = {format_of<alloctap::JsonDump>, WriteMode::kReplace, "/heap.%p.json"};
  settings.leaks = LeakChoice::kUnreachable;
  settings.suppression_count = 2;
  settings.suppressions[0] = kHostilePath;
  settings.suppressions[1] = "/rules";
  settings.hook = {.choice = HookChoice::kPlt, .mappings = false, .pattern_count = 2};
  settings.hook.patterns[0] = {kHostilePath, true};
  settings.hook.patterns[1] = {"x", false};
  return settings;
}

void check_equal(const Settings& one, const Settings& other) {
  CHECK(one.root_pid == other.root_pid);
  CHECK(one.follow_children == other.follow_children);
  CHECK(one.children_hint == other.children_hint);
  CHECK(one.stack == other.stack);
  CHECK(one.max_frames == other.max_frames);
  CHECK(one.mean_bytes == other.mean_bytes);
  CHECK(one.min_size == other.min_size);
  CHECK(one.max_size == other.max_size);
  CHECK(one.event_bytes == other.event_bytes);
  CHECK(one.tags == other.tags);
  CHECK(one.interval_ns == other.interval_ns);
  CHECK(one.threshold_bytes == other.threshold_bytes);
  CHECK(one.dump_signal == other.dump_signal);
  CHECK((one.checks == other.checks));
  CHECK(one.error_exit_code == other.error_exit_code);
  CHECK(one.leaks == other.leaks);
  REQUIRE(one.dump_count == other.dump_count);
  for (std::size_t i = 0; i < one.dump_count; ++i) {
    CHECK(one.dumps[i].format == other.dumps[i].format);
    CHECK(one.dumps[i].mode == other.dumps[i].mode);
    CHECK((one.dumps[i].pattern == other.dumps[i].pattern));
  }
  REQUIRE(one.suppression_count == other.suppression_count);
  for (std::size_t i = 0; i < one.suppression_count; ++i) {
    CHECK((one.suppressions[i] == other.suppressions[i]));
  }
  CHECK(one.hook.choice == other.hook.choice);
  CHECK(one.hook.mappings == other.hook.mappings);
  REQUIRE(one.hook.pattern_count == other.hook.pattern_count);
  for (std::size_t i = 0; i < one.hook.pattern_count; ++i) {
    CHECK((one.hook.patterns[i].text == other.hook.patterns[i].text));
    CHECK(one.hook.patterns[i].leaves_out == other.hook.patterns[i].leaves_out);
  }
}

TEST_CASE("settings survive the environment") {
  for (const Settings& settings :
       {every_field(), Settings{.root_pid = 1},
        Settings{.root_pid = 1, .children_hint = ChildrenHint::kNever}}) {
    const std::string text = encode(settings);
    const auto decoded = decode(text);
    REQUIRE(decoded.has_value());
    check_equal(*decoded, settings);
  }
}

TEST_CASE("the most dumps with the longest paths stay within the stated size") {
  Settings settings = every_field();
  settings.dump_count = kMaxDumps;
  settings.min_size = settings.max_size = UINT64_MAX;
  const std::string checks(kMaxCheckBytes, ';');
  settings.checks = checks;
  const std::string path = "/" + std::string(kPathBytes - 1, ';');
  settings.dumps.fill({format_of<alloctap::TextDump>, WriteMode::kReplace, path});
  settings.suppression_count = kMaxSuppressionFiles;
  settings.suppressions.fill(path);
  const std::string pattern(kLongestModulePattern, ';');
  settings.hook.pattern_count = kMaxModulePatterns;
  settings.hook.patterns.fill({pattern, true});
  const std::string text = encode(settings);
  CHECK(text.size() <= kMaxEncodedBytes);
  const auto decoded = decode(text);
  REQUIRE(decoded.has_value());
  check_equal(*decoded, settings);
}

TEST_CASE("no beginning of the text is taken for the whole") {
  const std::string text = encode(every_field());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(decode(std::string_view(text).substr(0, length)).has_value());
  }
  CHECK_FALSE(decode(text + ";").has_value());
  CHECK_FALSE(decode(text + text).has_value());
}

TEST_CASE("a changed byte is rejected or yields settings within their limits") {
  const std::string text = encode(every_field());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : std::string_view("\0;09a-/\xff", 8)) {
      std::string changed = text;
      changed[i] = c;
      const auto decoded = decode(changed);
      if (!decoded) continue;
      CHECK(decoded->dump_count <= kMaxDumps);
      CHECK(decoded->suppression_count <= kMaxSuppressionFiles);
      CHECK(decoded->max_frames >= 1);
      CHECK(decoded->max_frames <= kMaxFrames);
      CHECK(decoded->root_pid > 0);
      CHECK(decoded->mean_bytes <= kMaxMeanBytes);
      CHECK(decoded->min_size <= decoded->max_size);
      CHECK(decoded->interval_ns <= kLongestInterval);
    }
  }
}

TEST_CASE("values outside their limits are rejected") {
  const std::string_view sound =
      "alloctap-run/7;7;0;none;1;77;88;99;44;1;55;66;10;4;fill;33;1;text;replace;2;/x;live;1;3;/"
      "sy;plt;0;1;1;4;a;b|;";
  REQUIRE(decode(sound).has_value());
  struct {
    std::string_view from, to;
  } const changes[] = {{"run/7", "run/6"},
                       {"run/7", "run/8"},
                       {";live", ";alive"},
                       {";7;", ";0;"},
                       {";7;", ";-7;"},
                       {";7;", ";2147483648;"},
                       {";7;", ";7x;"},
                       {";0;", ";2;"},
                       {";none", ";None"},
                       {";none", ";"},
                       {";1;77", ";0;77"},
                       {";1;77", ";4001;77"},
                       {";77", ";-77"},
                       {";77", ";1099511627777"},
                       {";77", ";18446744073709551616"},
                       {";77", ";"},
                       {";77", ""},
                       {";88", ";100"},
                       {";88", ";-1"},
                       {";88", ";8x"},
                       {";99", ";87"},
                       {";44", ";-1"},
                       {";44", ";18446744073709551616"},
                       {";1;55", ";2;55"},
                       {";55", ";-1"},
                       {";55", ";31536000000000001"},
                       {";66", ";-1"},
                       {";66", ";18446744073709551616"},
                       {";10;", ";9;"},
                       {";10;", ";-10;"},
                       {";10;", ";USR1;"},
                       {";99", ";18446744073709551616"},
                       {";4;fill", ";3;fill"},
                       {";4;fill", ";-4;fill"},
                       {";4;fill", ";1025;fill"},
                       {";33;1;", ";256;1;"},
                       {";33;1;", ";-1;1;"},
                       {";33;1;", ";33;17;"},
                       {";33;1;", ";33;2;"},
                       {";33;1;", ";33;0;"},
                       {"text", "pdf"},
                       {"replace", "move"},
                       {";2;/x", ";2;ax"},
                       {";2;/x", ";0;"},
                       {";2;/x", ";3;/x"},
                       {";2;/x", ";1;/x"},
                       {";2;/x", ";-2;/x"},
                       {";2;/x", ";18446744073709551615;/x"},
                       {";2;/x", ";18446744073709551616;/x"},
                       {";1;3;/sy", ";2;3;/sy"},
                       {";1;3;/sy", ";0;3;/sy"},
                       {";1;3;/sy", ";17;3;/sy"},
                       {";1;3;/sy", ";1;2;/sy"},
                       {";1;3;/sy", ";1;3;sys"},
                       {";1;3;/sy", ";1"}};
  for (const auto& [from, to] : changes) {
    std::string text(sound);
    text.replace(text.find(from), from.size(), to);
    CAPTURE(text);
    CHECK_FALSE(decode(text).has_value());
  }
}

TEST_CASE("children are tracked only where they are followed") {
  Settings settings{.root_pid = 5};
  CHECK(settings.apply_to(5));
  CHECK_FALSE(settings.apply_to(6));
  settings.follow_children = true;
  CHECK(settings.apply_to(6));
}

}  // namespace
