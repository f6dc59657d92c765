/// A report for people: one page that shows everything, in any browser, without a network.
#pragma once

#include <span>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/html_page.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/script_text.hpp"

namespace alloctap {

/// Writes the page around reports in JSON (schema alloctap.heap/1): `write_report(ScriptText&)`
/// gives the one that is shown, `write_base(ScriptText&)` the one that it is compared with, or
/// nothing.
template <class WriteReport, class WriteBase>
void write_html_page(DumpWriter& out, WriteReport&& write_report, WriteBase&& write_base) {
  const auto write_page = [&out](std::span<const std::string_view> pieces) {
    for (const std::string_view piece : pieces) out << piece;
  };
  write_page(kHtmlPageStart);
  ScriptText report(out);
  write_report(report);
  write_page(kHtmlPageMiddle);
  ScriptText base(out);
  write_base(base);
  write_page(kHtmlPageEnd);
}

/// Flame graph, stacks, modules, threads, block sizes and timeline. The page holds what `JsonDump`
/// writes, and reads its files. Needs RapidJSON: target alloctap::html_dump.
struct HtmlDump {
  /// The page shows what changed since then: an earlier snapshot of the same tracker, which the
  /// caller keeps during the dump. nullptr: none.
  const Snapshot* base = nullptr;
  /// As in `JsonDump`.
  const Suppressions* suppressions = nullptr;
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const {
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

static_assert(DumpPolicy<HtmlDump>);

}  // namespace alloctap
