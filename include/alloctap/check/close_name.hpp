/// Suggests the intended name for a misspelt one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>

namespace alloctap {

/// Finds the candidate closest to a misspelt name by optimal string alignment distance: insertions,
/// deletions, substitutions, transpositions. Ignores case, and treats '-' and '_' as equal.
/// Allocates nothing. Control plane; not thread-safe.
class CloseName {
 public:
  explicit CloseName(std::string_view misspelt) noexcept
      : misspelt_(misspelt), closest_(std::max<std::size_t>(1, misspelt.size() / 3)) {}

  /// Considers `candidate`, which must outlive this object.
  void offer(std::string_view candidate) noexcept {
    if (misspelt_.empty() || candidate.size() > kMaxLetters || misspelt_.size() > kMaxLetters) {
      return;
    }
    const std::size_t distance = is_beginning_of(candidate) ? 1 : distance_to(candidate);
    const bool is_another_word = distance >= std::max(misspelt_.size(), candidate.size());
    if (is_another_word || distance > closest_ || (distance == closest_ && !found_.empty())) return;
    closest_ = distance;
    found_ = candidate;
  }

  /// Returns the first of the closest candidates; empty if no candidate is close. A candidate is
  /// close if it begins with the misspelt name, or differs by at most one edit per three letters of
  /// that name (for shorter names, by one edit).
  [[nodiscard]] std::string_view found() const noexcept { return found_; }

 private:
  /// Maximum letters of a name; longer names match no candidate.
  static constexpr std::size_t kMaxLetters = 63;
  static constexpr std::size_t kFewestFirstLetters = 3;
  using Row = std::array<std::size_t, kMaxLetters + 1>;

  static constexpr char folded(char letter) noexcept {
    if (letter == '-') return '_';
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }

  static bool is_alike(char a, char b) noexcept { return folded(a) == folded(b); }

  [[nodiscard]] bool is_beginning_of(std::string_view candidate) const noexcept {
    return misspelt_.size() >= kFewestFirstLetters && misspelt_.size() <= candidate.size() &&
           std::equal(misspelt_.begin(), misspelt_.end(), candidate.begin(), is_alike);
  }

  [[nodiscard]] std::size_t distance_to(std::string_view candidate) const noexcept {
    Row before_last{};
    Row last{};
    Row row{};
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= misspelt_.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t replaced = is_alike(misspelt_[i - 1], candidate[j - 1]) ? 0 : 1;
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + replaced});
        const bool is_swap = i > 1 && j > 1 && is_alike(misspelt_[i - 1], candidate[j - 2]) &&
                             is_alike(misspelt_[i - 2], candidate[j - 1]);
        if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
      before_last = last;
      last = row;
    }
    return last[candidate.size()];
  }

  std::string_view misspelt_;
  /// The largest edit distance at which a candidate still matches.
  std::size_t closest_;
  std::string_view found_;
};

}  // namespace alloctap
