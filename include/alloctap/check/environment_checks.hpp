/// Checks that the environment of the program asks for.
#pragma once

#include <array>
#include <string_view>

#include "alloctap/check/check_policy.hpp"
#include "alloctap/check/parse_check_options.hpp"
#include "alloctap/check/selectable_checks.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// As `SelectableChecks`, with what the variable ALLOCTAP_OPTIONS said when the program started, in
/// the words of `parse_check_options`: "level10", or "guard=64 free_track". Where it says nothing,
/// or anything that is wrong, nothing is checked; of what is wrong `Tracker::start` tells.
template <class Domain = void>
class EnvironmentChecks {
 public:
  static constexpr std::string_view kVariable = "ALLOCTAP_OPTIONS";
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs{.owns_every_free = true};

  static const CheckSettings& settings() noexcept { return Selected::settings(); }

  /// Puts into force what the variable says. Where the hook has a first call, in that one, else
  /// before it is installed; once, not thread-safe. May allocate.
  static void read_environment() {
    if (was_read_) return;
    was_read_ = true;
    const Result<CheckSettings> asked = parse();
    if (asked.ok()) Selected::select(*asked);
  }

  /// Whether the variable is in order, or all that is wrong with it. Control plane.
  static Status status() {
    const Result<CheckSettings> asked = parse();
    if (asked.ok()) return Status();
    return Status::invalid_argument("ALLOCTAP_OPTIONS asks for checks that there are not: ",
                                    asked.status().message());
  }

 private:
  using Selected = SelectableChecks<EnvironmentChecks>;

  static Result<CheckSettings> parse() {
    std::array<char, 4096> buffer{};
    return parse_check_options(os::initial_environment(kVariable, buffer));
  }

  static inline constinit bool was_read_ = false;
};

static_assert(CheckPolicy<EnvironmentChecks<>>);

}  // namespace alloctap
