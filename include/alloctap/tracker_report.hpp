/// Reports, leaks and faults of a tracker, computed from its snapshots.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Implements the report functions of `Tracker`. Control plane; the caller holds the control lock.
template <class Config>
class TrackerReport {
  using Sink = Recorder<Config>;

 public:
  /// Implements `Tracker::modules`: returns the modules recorded so far.
  static Result<ModuleTable> modules() {
    Sink::modules().settle_locked();
    ModuleTable modules = ModuleTable::read();
    const ModuleHistory& history = Sink::modules().history();
    bool complete = modules.reading() != ModuleReading::kNoMemory;
    if (modules.reading() == ModuleReading::kUnreadable) {
      modules = ModuleTable();
      complete = history.add_loaded_to(modules);
    }
    if (complete && history.add_to(modules)) return modules;
    return Status::resource_exhausted("dump: the system has no memory for its modules");
  }

  static Result<Leaks> leaks(const Snapshot& snapshot, const Suppressions& suppressions) {
    const Result<ModuleTable> modules = TrackerReport::modules();
    if (!modules.ok()) return modules.status();
    const Report report = report_of(snapshot, *modules);
    const FrameList frames(report);
    if (!frames.complete()) {
      return Status::resource_exhausted("leaks: the system has no memory for their frames");
    }
    return find_leaks(snapshot, suppressions, frames);
  }

  static Result<SortedMisuses> misuses(const Snapshot& snapshot, const Suppressions& suppressions) {
    ArenaArray<StackId> stacks;
    bool complete = true;
    for_each_misuse_stack(snapshot,
                          [&](StackId stack) { complete = complete && stacks.push_back(stack); });
    const Result<ModuleTable> modules = TrackerReport::modules();
    if (!modules.ok()) return modules.status();
    const Report report = report_of(snapshot, *modules);
    const FrameList frames(report, {stacks.data(), stacks.size()});
    if (!complete || !frames.complete()) {
      return Status::resource_exhausted("misuse: the system has no memory for its frames");
    }
    return sort_misuses(snapshot, suppressions, frames);
  }

  static Result<NamedStacks> name_stacks(std::span<const StackId> stacks) {
    const Result<ModuleTable> modules = TrackerReport::modules();
    if (!modules.ok()) return modules.status();
    Snapshot frames_alone;
    frames_alone.table = &Sink::stacks();
    return NamedStacks::name(report_of(frames_alone, *modules), stacks);
  }

  template <class Policy, class Output>
  static Status write(const Snapshot& snapshot, const Policy& policy, Output& output) {
    constexpr std::size_t kLongestText = 16 * 1024;
    ArenaArray<char> executable;
    ArenaArray<char> command;
    if (!executable.resize(kLongestText) || !command.resize(kLongestText)) {
      return Status::resource_exhausted("dump: the system has no memory for it");
    }
    const Result<ModuleTable> modules = TrackerReport::modules();
    if (!modules.ok()) return modules.status();
    const ReportWith<kFeatures> report{{
        .snapshot = snapshot,
        .modules = *modules,
        .program = {.pid = os::current_process_id(),
                    .executable = os::executable_path({executable.data(), executable.size()}),
                    .command = os::command_line({command.data(), command.size()})},
        .backend = backend_info(),
        .symbolize = &symbolize,
    }};
    if (Status status = output.open(); !status.ok()) return status;
    DumpWriter writer(output);
    policy.write(report, writer);
    if (Status status = writer.finish(); !status.ok()) return status;
    return output.commit();
  }

 private:
  static constexpr ReportFeatures kFeatures{.owners = !kHasNoOwners<typename Config::Tags>,
                                            .misuses = Config::Checks::kChecks,
                                            .game_frames = kObserves<typename Config::Observers>,
                                            .pools = Config::Pools::kHears};

  /// Returns a report that serves only to symbolize frames.
  static Report report_of(const Snapshot& snapshot, const ModuleTable& modules) noexcept {
    return {.snapshot = snapshot,
            .modules = modules,
            .program = {},
            .backend = {},
            .symbolize = &symbolize};
  }

  static void symbolize(std::span<const CodeAddress> addresses, Symbols& symbols) noexcept {
    Sink::modules().symbolize(addresses, symbols);
  }

  static std::string_view find_symbolizer_note() noexcept {
    if constexpr (features_of<SymbolizerFeatures, typename Config::Symbolizer>().note)
      return Config::Symbolizer::note();
    return {};
  }

  static BackendInfo backend_info() noexcept {
    return {.hook = active_name<typename Config::Hook>(),
            .stack = stack_name(),
            .max_frames = Sink::max_frames(),
            .symbolizer = Config::Symbolizer::name,
            .find_symbolizer_note = &find_symbolizer_note,
            .blind_spots = active_capabilities<typename Config::Hook>().blind_spots};
  }

  /// Returns the name of the stack policy. If that policy selects another one, returns the name of
  /// the selected policy.
  static std::string_view stack_name() noexcept {
    if constexpr (features_of<StackFeatures, typename Config::Stack>().selected) {
      return Config::Stack::selected();
    } else {
      return Config::Stack::name;
    }
  }
};

}  // namespace alloctap
