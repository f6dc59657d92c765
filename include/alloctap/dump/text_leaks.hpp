/// What the text report says of leaks and of the rules that suppress some.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/suppressions.hpp"

namespace alloctap {

/// "Leaked     1.2 KiB in 3 blocks of 2 stacks; suppressed 40 KiB in 10 blocks".
inline void write_leak_totals(const Leaks& leaks, DumpWriter& out) {
  const auto plural = [](std::uint64_t count) { return count == 1 ? "" : "s"; };
  const LiveSum& leaked = leaks.leaked;
  out << "Leaked     ";
  if (leaked.stacks == 0) {
    out << "nothing";
  } else {
    out << human_bytes(leaked.live_bytes) << " in " << with_commas(leaked.live_allocations)
        << " block" << plural(leaked.live_allocations) << " of " << with_commas(leaked.stacks)
        << " stack" << plural(leaked.stacks);
  }
  out << "; suppressed " << human_bytes(leaks.suppressed.live_bytes) << " in "
      << with_commas(leaks.suppressed.live_allocations) << " block"
      << plural(leaks.suppressed.live_allocations) << "\n";
}

/// The rules, those that matched first, then those that may go.
class TextRuleList {
 public:
  TextRuleList(const Suppressions& suppressions, const Leaks& leaks, DumpWriter& out) noexcept
      : suppressions_(suppressions), leaks_(leaks), out_(out) {}

  void write() {
    if (used() > 0) {
      out_ << "\nSuppressed, by rule (blocks, bytes)\n";
      for_each(true, [this](const SuppressionRule& rule, const LiveSum& sum) {
        out_ << "  " << with_commas(sum.live_allocations) << "  " << human_bytes(sum.live_bytes)
             << "  ";
        write_rule(rule);
      });
    }
    if (used() < leaks_.rules.size()) {
      out_ << "\nRules that matched nothing\n";
      for_each(false, [this](const SuppressionRule& rule, const LiveSum&) {
        out_ << "  ";
        write_rule(rule);
      });
    }
  }

 private:
  [[nodiscard]] std::size_t used() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(leaks_.rules.begin(), leaks_.rules.end(),
                      [](const LiveSum& sum) { return sum.stacks > 0; }));
  }

  template <class Visit>
  void for_each(bool used, Visit&& visit) {
    for (std::size_t i = 0; i < leaks_.rules.size(); ++i) {
      if ((leaks_.rules[i].stacks > 0) == used) visit(suppressions_.rules()[i], leaks_.rules[i]);
    }
  }

  void write_rule(const SuppressionRule& rule) {
    out_ << "leak:" << rule.pattern << "   " << rule.source << ':' << rule.line << "\n";
  }

  const Suppressions& suppressions_;
  const Leaks& leaks_;
  DumpWriter& out_;
};

}  // namespace alloctap
