/// The data-quality statements of a report as a list of strings, for formats such as JSON.
#pragma once

#include <string_view>

#include "alloctap/dump/data_quality_text.hpp"
#include "alloctap/dump/impl/outputs.hpp"

namespace alloctap {

/// The statements that `write_account` writes, as a list of strings in arena memory.
class AccountList {
 public:
  explicit AccountList(const Report& report) {
    DumpWriter lines(text_);
    write_account(report, "\n", lines);
    lines << '\n';
    complete_ = lines.finish().ok();
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Calls `visit(std::string_view)` for each statement.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::string_view rest = text_.text();
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
  }

 private:
  MemoryOutput text_;
  bool complete_ = false;
};

}  // namespace alloctap
