/// Suppression rules in the text report.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/printable_text.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"

namespace alloctap {

/// Writes what a rule matched: blocks and bytes of leaks, or distinct misuses and occurrences.
inline void write_matched(const LiveSum& sum, DumpWriter& out) {
  out << with_commas(sum.live_allocations) << "  " << human_bytes(sum.live_bytes);
}
inline void write_matched(const MisuseSum& sum, DumpWriter& out) {
  out << with_commas(sum.ways) << "  " << with_commas(sum.times);
}
[[nodiscard]] constexpr bool has_matched(const LiveSum& sum) noexcept { return sum.stacks > 0; }
[[nodiscard]] constexpr bool has_matched(const MisuseSum& sum) noexcept { return sum.ways > 0; }

/// Writer of lists of rules. `sums[i]` is the sum of the leaks or misuses that `rules[i]` matched.
template <class Sum>
class TextRules {
 public:
  TextRules(std::span<const SuppressionRule> rules, const ArenaArray<Sum>& sums,
            DumpWriter& out) noexcept
      : rules_(rules), sums_(sums), out_(out) {}

  /// Writes the allow-list rules (if `only`) or suppressions that matched, under `title`.
  void write_matching(std::string_view title, bool only) {
    bool first = true;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].only != only || !has_matched(sums_[i])) continue;
      if (first) out_ << "\n" << title << "\n";
      first = false;
      out_ << "  ";
      write_matched(sums_[i], out_);
      out_ << "  ";
      write_rule(rules_[i]);
    }
  }

  [[nodiscard]] bool has_idle() const noexcept {
    return !std::all_of(sums_.begin(), sums_.end(),
                        [](const Sum& sum) { return has_matched(sum); });
  }

  /// Writes the rules that matched nothing and so can be deleted.
  void write_idle() {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (has_matched(sums_[i])) continue;
      out_ << "  ";
      write_rule(rules_[i]);
    }
  }

 private:
  void write_rule(const SuppressionRule& rule) {
    out_ << (rule.only ? SuppressionRule::kOnly : std::string_view()) << rule.subject << ':'
         << PrintableText(rule.pattern) << "   " << PrintableText(rule.source) << ':' << rule.line
         << "\n";
  }

  std::span<const SuppressionRule> rules_;
  const ArenaArray<Sum>& sums_;
  DumpWriter& out_;
};

/// Writes what rules suppressed, what allow-list rules let through, and rules that matched nothing.
/// If leaks were not requested, `leaks` is nullptr and leak rules are left out.
inline void write_rules(const Suppressions& suppressions, const Leaks* leaks,
                        const SortedMisuses& misuses, DumpWriter& out) {
  const ArenaArray<LiveSum> none;
  TextRules of_leaks(
      leaks == nullptr ? std::span<const SuppressionRule>() : suppressions.leak_rules(),
      leaks == nullptr ? none : leaks->rules, out);
  TextRules of_misuses(suppressions.misuse_rules(), misuses.rules, out);
  of_leaks.write_matching("Suppressed, by rule (blocks, bytes)", false);
  of_leaks.write_matching("Let through, by rule (blocks, bytes)", true);
  of_misuses.write_matching("Misuse suppressed, by rule (ways, times)", false);
  of_misuses.write_matching("Misuse let through, by rule (ways, times)", true);
  if (!of_leaks.has_idle() && !of_misuses.has_idle()) return;
  out << "\nRules that matched nothing\n";
  of_leaks.write_idle();
  of_misuses.write_idle();
}

}  // namespace alloctap
