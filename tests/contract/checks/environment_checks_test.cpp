// Checks that a variable asks for. Each case is for one value of it, which ctest sets.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "alloctap/check/selectable_checks.hpp"
#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/message_text.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

struct EnvironmentConfig : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Checks = alloctap::EnvironmentChecks<>;
};
using EnvironmentTracker = alloctap::Tracker<EnvironmentConfig>;

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(EnvironmentTracker);

namespace {

using alloctap::testing::escape;

/// How many faults are known once a byte was written behind a block and this was freed.
std::size_t faults_of_overflow() {
  const auto session = EnvironmentTracker::start();
  REQUIRE_MESSAGE(session.ok(), to_string(session.status()));
  char* const block = static_cast<char*>(escape(std::malloc(24)));
  escape(block)[24] = 7;
  std::free(escape(block));
  const auto snapshot = EnvironmentTracker::snapshot();
  REQUIRE(snapshot.ok());
  return snapshot->misuses.size();
}

}  // namespace

// ALLOCTAP_OPTIONS="rear_guard=64, verify_kinds"
TEST_CASE("what the variable asks for is checked, from the first call on") {
  CHECK(EnvironmentConfig::Checks::settings().rear_guard == 64);
  CHECK(EnvironmentConfig::Checks::settings().kinds);
  CHECK(faults_of_overflow() == 1);
}

// ALLOCTAP_OPTIONS="expand_alloc"
TEST_CASE("what it does not ask for is not") { CHECK(faults_of_overflow() == 0); }

// Not set.
TEST_CASE("without it nothing is checked") {
  CHECK(EnvironmentConfig::Checks::settings() == alloctap::CheckSettings{});
}

// ALLOCTAP_OPTIONS="guard=0 gard level10"
TEST_CASE("all that is wrong with it is told, and nothing is checked or started") {
  for (int i = 0; i < 2; ++i) {
    const auto session = EnvironmentTracker::start();
    REQUIRE_FALSE(session.ok());
    const std::string message(session.status().message());
    CHECK(message.find("ALLOCTAP_OPTIONS") != std::string::npos);
    CHECK(message.find("guard: \"0\" is no whole number from 1 to 16384") != std::string::npos);
    CHECK(message.find("gard: is unknown") != std::string::npos);
  }
  CHECK(EnvironmentConfig::Checks::settings() == alloctap::CheckSettings{});
}
