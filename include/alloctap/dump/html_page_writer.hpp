/// HTML page that `HtmlDump` writes around JSON reports from the caller.
#pragma once

#include <span>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/html_page.hpp"
#include "alloctap/dump/script_text.hpp"

namespace alloctap {

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
