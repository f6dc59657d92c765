#include "launcher/encode_settings.hpp"

#include <utility>

#include "alloctap/status.hpp"
#include "launcher/suppression_files.hpp"
#include "settings.hpp"

namespace alloctap::run {

Result<ResolvedFiles> resolve_files(const Options& options, std::int32_t pid) {
  auto suppressions = resolve_suppressions(options.suppressions);
  if (!suppressions.ok()) return suppressions.status();
  auto dumps = resolve_dumps(options.dumps, options.follow_children, pid);
  if (!dumps.ok()) return dumps.status();
  return ResolvedFiles{*std::move(dumps), *std::move(suppressions)};
}

std::string encode_settings(const Options& options, const ResolvedFiles& files, std::int32_t pid) {
  Settings settings{.root_pid = pid,
                    .follow_children = options.follow_children,
                    .children_hint = options.children_hint,
                    .stack = options.stack,
                    .max_frames = options.max_frames,
                    .mean_bytes = options.mean_bytes,
                    .min_size = options.min_size,
                    .max_size = options.max_size,
                    .event_bytes = options.event_bytes,
                    .tags = options.tags,
                    .interval_ns = options.interval_ns,
                    .threshold_bytes = options.threshold_bytes,
                    .dump_signal = options.dump_signal,
                    .checks = options.checks,
                    .error_exit_code = options.error_exit_code,
                    .leaks = options.leaks};
  for (const ResolvedDump& dump : files.dumps) {
    settings.dumps[settings.dump_count++] = {dump.format, dump.mode, dump.pattern};
  }
  for (const std::string& path : files.suppressions) {
    settings.suppressions[settings.suppression_count++] = path;
  }
  settings.hook.choice = options.hook;
  settings.hook.mappings = options.mappings;
  for (const ModuleChoice& choice : options.modules) {
    settings.hook.patterns[settings.hook.pattern_count++] = {choice.pattern, choice.leaves_out};
  }
  return encode(settings);
}

}  // namespace alloctap::run
