#include "final_report.hpp"

#include <absl/base/internal/raw_logging.h>

#include <algorithm>
#include <alloctap/os/file.hpp>
#include <alloctap/os/process.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <atomic>
#include <cstring>
#include <string>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "option_words.hpp"
#include "run_suppressions.hpp"
#include "standard_error.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {
namespace {

constinit const Settings* current_settings = nullptr;
constinit std::atomic<os::ProcessId> owing_process{0};
constinit std::atomic<bool> may_ask_for_process{true};
/// Only the thread that writes reports uses it.
constinit std::uint32_t next_dump = kFirstDump;

/// Abseil tells standard error which files its symbolizer cannot read. Nobody asked.
bool say_nothing(absl::LogSeverity, const char*, int, char**, int*) { return false; }

ChosenDump policy_of(DumpFormat format) noexcept {
  return {.format = format,
          .suppressions = loaded_suppressions(),
          .leaks = current_settings->leaks != LeakChoice::kNone};
}

Status dump_to_standard_output(const Snapshot& snapshot, DumpFormat format) {
  const int output = standard_output();
  if (output >= 0) return dump(snapshot, policy_of(format), DescriptorOutput(output));
  return Status::unavailable(
      "cannot write the dump: the program has closed all descriptors of standard output");
}

constinit const char* spare_directory = nullptr;

/// Without a format and a path. Where the program has closed or replaced its standard error, the
/// report is a file; not of children, which may be many and mean it.
Status dump_by_default(const Snapshot& snapshot) {
  const ChosenDump text = policy_of(format_of<TextDump>);
  const int output = standard_error();
  if (output >= 0) return dump(snapshot, text, DescriptorOutput(output));
  const os::ProcessId process = os::current_process_id();
  if (process != current_settings->root_pid || spare_directory == nullptr) return Status();
  const std::string path = join_text(spare_directory, "/alloctap-run.", process, ".txt");
  return dump(snapshot, text, FileOutput(path));
}

/// What is at `path` must not be replaced: it leads to a device, a pipe or an open descriptor.
Status append_dump(const Snapshot& snapshot, DumpFormat format, const char* path) {
  if (std::string_view(path) == kStandardOutputPath) {
    return dump_to_standard_output(snapshot, format);
  }
  // A program that has replaced its standard error gets the report there.
  const int error_stream = std::string_view(path) == kStandardErrorPath ? standard_error() : -1;
  if (error_stream >= 0) return dump(snapshot, policy_of(format), DescriptorOutput(error_stream));
  int error = 0;
  const os::File file = os::open_for_appending(path, error);
  if (error != 0) {
    return Status::unavailable("cannot open the dump ", path, ": ", os::error_text(error));
  }
  const Status status = dump(snapshot, policy_of(format), DescriptorOutput(file.descriptor()));
  if (status.ok()) return status;
  return Status::unavailable(path, ": ", status.message());
}

Status write_dump(const Snapshot& snapshot, const DumpTarget& target) {
  char path[kPathBytes];
  const std::string_view expanded =
      expand_path(target.pattern, os::current_process_id(), next_dump, path);
  if (expanded.empty()) {
    return Status::invalid_argument("cannot write the dump ", std::string(target.pattern),
                                    ": its path is too long");
  }
  return target.mode == WriteMode::kAppend
             ? append_dump(snapshot, target.format, path)
             : dump(snapshot, policy_of(target.format), FileOutput(expanded));
}

/// Whether some format shows blocks one by one.
bool blocks_wanted() noexcept {
  bool wanted = false;
  for_each_dump_format([&](const auto& row, std::size_t index) {
    for (const DumpTarget& target : current_settings->targets()) {
      wanted = wanted || (row.shows_blocks && target.format == DumpFormat(index));
    }
  });
  return wanted;
}

/// Where unreachable blocks cannot be told, that is said, and reports show all that is live.
Result<Snapshot> snapshot_for_reports() {
  SnapshotOptions options{.blocks = blocks_wanted()};
  if (current_settings->leaks != LeakChoice::kUnreachable) return take_snapshot(options);
  options.reachability = Reachability::kScan;
  Result<Snapshot> scanned = take_snapshot(options);
  if (scanned.ok()) return scanned;
  print_error(scanned.status());
  options.reachability = Reachability::kNotAsked;
  return take_snapshot(options);
}

/// Of the last report.
constinit std::atomic<bool> leaked{false};
constinit std::atomic<bool> misused{false};
constinit std::atomic<std::uint64_t> allocated_bytes{UINT64_MAX};

/// A snapshot that was to tell what is unreachable and could not has no leaks for sure.
void note_errors(const Snapshot& snapshot) {
  const Suppressions* const suppressions = loaded_suppressions();
  if (current_settings->error_exit_code == 0 || suppressions == nullptr) return;
  const LeakChoice leaks = current_settings->leaks;
  const bool told = leaks == LeakChoice::kLive || snapshot.scan.done;
  leaked.store(leaks != LeakChoice::kNone && told && has_leaks(snapshot, *suppressions));
  misused.store(has_misuse_rules() && has_misuses(snapshot, *suppressions));
}

/// Where rules are to be asked, as of the last report.
bool has_errors() noexcept {
  return leaked.load() || (has_misuse_rules() ? misused.load() : found_misuse());
}

}  // namespace

void provide_spare_directory(const char* path) noexcept { spare_directory = path; }

void owe_report(const Settings& settings) noexcept {
  current_settings = &settings;
  next_dump = kFirstDump;
  owing_process.store(os::current_process_id(), std::memory_order_release);
}

void forgive_report() noexcept { owing_process.store(0, std::memory_order_release); }

bool report_owed() noexcept {
  const os::ProcessId owing = owing_process.load(std::memory_order_acquire);
  if (owing == 0 || !may_ask_for_process.load(std::memory_order_relaxed)) return owing != 0;
  return owing == os::current_process_id();
}

void stop_asking_for_process() noexcept { may_ask_for_process.store(false); }

const Settings& report_settings() noexcept { return *current_settings; }

void write_report() noexcept {
  const UseInternalArena own;
  absl::raw_logging_internal::RegisterLogFilterAndPrefixHook(&say_nothing);
  verify_blocks();
  const Result<Snapshot> snapshot = snapshot_for_reports();
  if (!snapshot.ok()) return print_error(snapshot.status());
  note_errors(*snapshot);
  allocated_bytes.store(snapshot->totals.allocated_bytes);
  if (current_settings->dump_count == 0) print_error(dump_by_default(*snapshot));
  for (const DumpTarget& target : current_settings->targets()) {
    const Status status = write_dump(*snapshot, target);
    if (!status.ok()) print_error(status);
  }
  ++next_dump;
}

std::uint64_t allocated_bytes_in_report() noexcept { return allocated_bytes.load(); }

int code_of_errors(int status) noexcept {
  const int chosen = current_settings->error_exit_code;
  return chosen != 0 && has_errors() ? chosen : status;
}

void print_line(std::string_view text) noexcept {
  const int output = standard_error();
  if (output < 0) return;
  constexpr std::string_view kPrefix = "alloctap-run: ";
  char line[1024];
  const std::size_t length = std::min(text.size(), sizeof line - kPrefix.size() - 1);
  std::memcpy(line, kPrefix.data(), kPrefix.size());
  std::memcpy(line + kPrefix.size(), text.data(), length);
  line[kPrefix.size() + length] = '\n';
  os::write_all(output, {line, kPrefix.size() + length + 1});
}

void print_error(const Status& status) noexcept {
  if (!status.ok()) print_line(in_option_words(status.message()));
}

}  // namespace alloctap::run
