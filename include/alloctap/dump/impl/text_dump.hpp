/// Definitions for dump/text_dump.hpp.
#pragma once

#include "alloctap/dump/text/text_report.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void write_text(const TextDump& dump, const Report& report,
                                const TextSections& sections, DumpWriter& out) {
  TextDumpWriter(dump).write_report(report, sections, out);
}

}  // namespace alloctap
