/// alloctap-diff: compares two reports in JSON.
#include <algorithm>
#include <alloctap/dump/dump_writer.hpp>
#include <alloctap/dump/impl/outputs.hpp>
#include <alloctap/dump/recording/json_reader.hpp>
#include <alloctap/runtime/file_contents.hpp>
#include <alloctap/snapshot/profile_diff.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "diff/difference_page.hpp"
#include "diff/difference_text.hpp"
#include "diff/options.hpp"
#include "tool_program.hpp"

namespace alloctap::run {
namespace {

enum ExitCode : int { kFine = 0, kGrewOrDamaged = 1, kNothingCompared = kToolFailed };

constexpr std::size_t kMaxBytes = std::size_t{1} << 40;

constexpr char kTool[] = "alloctap-diff";

int say(int code, const std::string& message) { return run::say(kTool, code, message); }

/// What is read, and with what result.
struct Input {
  std::string file;
  SavedProfile profile;
  /// As it stands in the file, where a page is asked for: reading takes the text apart.
  std::string json = {};
  int code = kFine;

  /// Of a damaged one something must have been read, or all would seem to be gone.
  [[nodiscard]] bool comparable() const {
    return code == kFine || (code == kGrewOrDamaged && !profile.stacks.empty());
  }
};

void read(Input& input, bool keep_json) {
  const std::string name = join_text("'", escaped_text(input.file), "'");
  ArenaArray<char> text;
  const int error = read_file(input.file.c_str(), kMaxBytes, text);
  if (error != 0) {
    input.code = say(kNothingCompared, join_text(name, " cannot be read: ", os::error_text(error)));
    return;
  }
  if (keep_json) input.json = text_of(text);
  const Status status = JsonReader::read(std::move(text), input.profile);
  if (status.ok()) return;
  input.code =
      say(status.code() == StatusCode::kResourceExhausted ? kNothingCompared : kGrewOrDamaged,
          join_text(name, " ", std::string(status.message())));
}

/// A file that was built anew has other places, so its stacks are not recognized.
void report_rebuilt(const SavedProfile& before, const SavedProfile& after) {
  for (const Module& old : before.modules) {
    for (const Module& now : after.modules) {
      const bool same_build = std::equal(old.build_id, old.build_id + old.build_id_bytes,
                                         now.build_id, now.build_id + now.build_id_bytes);
      if (old.path != now.path || same_build) continue;
      say(kFine, join_text("note: '", escaped_text(std::string(now.path)),
                           "' was built anew in between, so stacks through it differ; with "
                           "--match=functions they are matched by names"));
      return;
    }
  }
}

int judge(const DiffOptions& options, const HeapChange& change) {
  if (!options.allowed_growth || change.live_bytes <= 0) return kFine;
  const auto growth = static_cast<std::uint64_t>(change.live_bytes);
  if (growth <= *options.allowed_growth) return kFine;
  return say(kGrewOrDamaged, join_text("memory grew by ", growth, " bytes, more than the ",
                                       *options.allowed_growth, " allowed"));
}

/// Half a report would make a page that shows nothing.
int write_page(const DiffOptions& options, const Input& before, const Input& after) {
  if (options.page.empty()) return kFine;
  if (before.code != kFine || after.code != kFine) {
    return say(kGrewOrDamaged, "no page is written: it needs two whole reports");
  }
  const Status status = write_difference_page(before.json, after.json, options.page);
  return status.ok() ? kFine : say(kNothingCompared, std::string(status.message()));
}

int compare(const DiffOptions& options) {
  Input before{.file = options.before, .profile = {}};
  Input after{.file = options.after, .profile = {}};
  read(before, !options.page.empty());
  read(after, !options.page.empty());
  const int readable = std::max(before.code, after.code);
  if (!before.comparable() || !after.comparable()) return readable;
  Result<ProfileDiff> change = diff(before.profile, after.profile, options.match);
  if (!change.ok()) return say(kNothingCompared, std::string(change.status().message()));
  if (options.match == StackMatch::kPlaces) report_rebuilt(before.profile, after.profile);
  DescriptorOutput output(1);
  DumpWriter out(output);
  write_difference({before.file, before.profile}, {after.file, after.profile}, *change,
                   options.most_stacks, out);
  const Status written = out.finish();
  if (!written.ok()) return say(kNothingCompared, std::string(written.message()));
  return std::max({readable, write_page(options, before, after), judge(options, change->total)});
}

}  // namespace
}  // namespace alloctap::run

int main(int argc, char** argv) {
  using namespace alloctap::run;
  return run_tool(kTool, {argv, static_cast<std::size_t>(argc)}, &parse_diff_options, &compare);
}
