#include "diff/difference_page.hpp"

#include <alloctap/dump/dump_writer.hpp>
#include <alloctap/dump/html_page_writer.hpp>
#include <alloctap/dump/impl/outputs.hpp>

#include "alloctap/status.hpp"

namespace alloctap::run {
namespace {

/// What goes wrong is told by the writer.
void copy(std::string_view json, ScriptText& script) { static_cast<void>(script.write(json)); }

}  // namespace

Status write_difference_page(std::string_view before, std::string_view after,
                             std::string_view path) {
  FileOutput output(path);
  if (Status status = output.open(); !status.ok()) return status;
  DumpWriter out(output);
  write_html_page(
      out, [after](ScriptText& script) { copy(after, script); },
      [before](ScriptText& script) { copy(before, script); });
  if (Status status = out.finish(); !status.ok()) return status;
  return output.commit();
}

}  // namespace alloctap::run
