/// Bodies of html_dump.hpp.
#pragma once

#include <span>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/html_dump.hpp"
#include "alloctap/dump/html_page.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/script_text.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Writes a part of the page.
inline void write_page_part(DumpWriter& out, std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces) out << piece;
}

/// Writes the page around reports in JSON (schema alloctap.heap/1). `write_report(ScriptText&)`
/// writes the report that is shown. `write_base(ScriptText&)` writes an earlier one to compare
/// with, or nothing.
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

/// Writes an `HtmlDump`; its base class is a copy of the options.
class HtmlDumpWriter : public HtmlDump {
 public:
  explicit HtmlDumpWriter(const HtmlDump& options) noexcept : HtmlDump(options) {}

  void write_report(const Report& report, DumpWriter& out) const {
    write_html_page(
        out, [&](ScriptText& script) { write_json(report, script, out); },
        [&](ScriptText& script) {
          if (base != nullptr) write_json(report_of(*base, report), script, out);
        });
  }

 private:
  static Report report_of(const Snapshot& snapshot, const Report& like) {
    return {.snapshot = snapshot,
            .modules = like.modules,
            .program = like.program,
            .backend = like.backend,
            .symbolize = like.symbolize};
  }

  void write_json(const Report& report, ScriptText& script, DumpWriter& out) const {
    DumpWriter json(script);
    JsonDump{.suppressions = suppressions, .leaks = leaks}.write(report, json);
    if (!json.finish().ok()) out.fail("html: the system has no memory for the report");
  }
};

ALLOCTAP_INLINE void HtmlDump::write(const Report& report, DumpWriter& out) const {
  HtmlDumpWriter(*this).write_report(report, out);
}

static_assert(DumpPolicy<HtmlDump>);

}  // namespace alloctap
