/// HTML page that `HtmlDump` writes around JSON reports from the caller.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/html_page.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Escapes '/' and '!' after '<' in JSON, so that no string ends the script element or begins a
/// comment in it. In JSON, only strings can contain '<' (HTML Living Standard, 4.12.1.3
/// "Restrictions for contents of script elements"). The JSON may be split at any byte. Satisfies
/// `DumpOutput`; `commit` does nothing, because the page's writer commits.
class ScriptText {
 public:
  explicit ScriptText(DumpWriter& out) noexcept : out_(out) {}

  Status open() { return Status(); }
  Status commit() { return Status(); }

  Status write(std::string_view json) {
    std::size_t written = 0;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const bool dangerous = last_ == '<' && (json[i] == '/' || json[i] == '!');
      last_ = json[i];
      if (!dangerous) continue;
      out_ << json.substr(written, i - written) << (json[i] == '/' ? "\\/" : "\\u0021");
      written = i + 1;
    }
    out_ << json.substr(written);
    return out_.ok() ? Status() : Status::cancelled("the page cannot be written");
  }

 private:
  DumpWriter& out_;
  char last_ = '\0';
};

static_assert(DumpOutput<ScriptText>);

inline void write_page_part(DumpWriter& out, std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces) out << piece;
}

/// Writes the HTML page around JSON reports (schema alloctap.heap/1). `write_report(ScriptText&)`
/// writes the shown report. `write_base(ScriptText&)` writes an earlier report for comparison, or
/// nothing.
template <class WriteReport, class WriteBase>
void write_html_page(DumpWriter& out, WriteReport&& write_report, WriteBase&& write_base) {
  const auto write_page = [&out](const auto& part) { write_page_part(out, part); };
  write_page(kHtmlPageStart);
  ScriptText report(out);
  write_report(report);
  write_page(kHtmlPageMiddle);
  ScriptText base(out);
  write_base(base);
  write_page(kHtmlPageEnd);
}

}  // namespace alloctap
