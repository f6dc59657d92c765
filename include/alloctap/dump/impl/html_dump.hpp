/// Definitions for dump/html_dump.hpp.
#pragma once

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/html_dump.hpp"
#include "alloctap/dump/html_page_writer.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Implements `HtmlDump::write`. The base class is a copy of the options.
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
