/// A small report whose every number is known, for tests of dumps.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace alloctap::testing {

/// Two stacks with one caller in common, one that has given everything back, and the unknown one.
/// Tests change what they want before they call `report`.
class SampleReport {
 public:
  static constexpr std::uintptr_t kLoad = 0x1000;
  static constexpr std::uintptr_t kParse = 0x2000;
  static constexpr std::uintptr_t kMain = 0x3000;
  static constexpr std::uintptr_t kNameless = 0x4000;

  SampleReport() {
    const StackId deep = intern({kLoad + 0x11, kParse + 0x21, kMain + 0x31});
    const StackId shallow = intern({kParse + 0x29, kMain + 0x31});
    const StackId gone = intern({kNameless + 0x41});
    add({kUnknownStack, {7, 70, 0}, 2, 3});
    add({deep, {1000, 65536, 250}, 10, 40960});
    add({shallow, {5, 5 << 20, 1}, 1, (1 << 20) - 1});
    add({gone, {1234567, 99, 1234567}, 0, 0});
    static_cast<void>(snapshot.mappings.push_back({deep, 2, 8192}));
    add_history(deep, shallow);
    add_thread(4711, true, "game", {6, 5242950, 1}, 2, 1'100'000);
    add_thread(4712, false, "", {1235573, 65635, 1234817}, 1235564, -10'462);
    snapshot.table = table_.get();
    snapshot.account = {.events = 2471158,
                        .dropped = 1,
                        .unmatched_frees = 2,
                        .unseen_frees = 3,
                        .failed_unwinds = 4,
                        .frame_pointer_unwinds = 6,
                        .truncated_stacks = 5,
                        .tracker_bytes = 6 << 20};
    snapshot.totals = {.allocations = 1235579,
                       .deallocations = 1235566,
                       .allocated_bytes = 5308585,
                       .live_allocations = 13,
                       .live_bytes = 1089538,
                       .peak_live_bytes = 3 << 20,
                       .temporary_allocations = 1234818};
    snapshot.sampling = {.policy = {.name = "every-allocation"}, .live_samples = 13};
    snapshot.mapping_totals = {.mappings = 9,
                               .mapped_bytes = 10 << 12,
                               .unmappings = 4,
                               .live_mappings = 2,
                               .live_bytes = 8192,
                               .peak_live_bytes = 3 << 12,
                               .dropped = 0};
    snapshot.time_ns = 1'700'000'000'123'456'789;
    names = {{kLoad, kParse, "engine::load(char const*)", "", 0},
             {kParse, kMain, "engine::parse", "", 0},
             {kMain, kNameless, "main", "", 0}};
  }

  /// Refers to this object.
  [[nodiscard]] Report report() const {
    FakeSymbolizer::know(names);
    return {.snapshot = snapshot,
            .modules = modules,
            .program = program,
            .backend = backend,
            .symbolize = &FakeSymbolizer::symbolize};
  }

  StackId intern(std::vector<std::uintptr_t> frames, StackOwner owner = {}) {
    return table_->intern(frames, owner);
  }
  void retire(StackId stack) { table_->retire(stack); }
  void add_thread(os::ThreadId id, bool alive, std::string_view name, AllocationTotals total,
                  std::uint64_t deallocations, std::int64_t net_bytes) {
    ThreadSummary thread{.thread_id = id,
                         .alive = alive,
                         .total = total,
                         .deallocations = deallocations,
                         .net_bytes = net_bytes};
    thread.name_bytes = name.copy(thread.name_text.data(), thread.name_text.size());
    static_cast<void>(snapshot.threads.push_back(thread));
  }
  /// A fault of each shape: of a block that was freed, of what was written, of no block, of what a
  /// function reads.
  void add_misuses() {
    snapshot.guards = {.one_in = 100, .placed = 1234, .fell_back = 1, .passed_over = 7};
    const StackId load = intern({kLoad + 0x11, kParse + 0x21, kMain + 0x31});
    const StackId parse = intern({kParse + 0x29, kMain + 0x31});
    constexpr std::int64_t kSecond = 1'000'000'000;
    Misuse again;
    again.kind = MisuseKind::kDoubleFree;
    again.found = {.stack = parse, .thread = 4712, .time_ns = 9 * kSecond};
    again.address = 0x5000;
    again.block = {.known = true,
                   .freed = true,
                   .address = 0x5000,
                   .size = 24,
                   .allocated = {.stack = load, .thread = 4711, .time_ns = 4 * kSecond},
                   .gone = {.stack = parse, .thread = 4712, .time_ns = 8'800'000'000}};
    add_misuse(again, 2);
    Misuse behind;
    behind.kind = MisuseKind::kWriteBehind;
    behind.by_sweep = true;
    behind.found.time_ns = 10 * kSecond;
    behind.address = 0x6000;
    behind.block = again.block;
    behind.block.freed = false;
    behind.block.address = 0x6000;
    behind.block.kind = AllocationKind::kAlignedNew;
    behind.block.alignment = 64;
    behind.changed = {.count = 2, .first = 24, .last = 26, .expected = 0xBB, .shown = 3};
    behind.changed.found = {0x41, 0xBB, 0x42};
    add_misuse(behind, 1);
    Misuse sized = again;
    sized.kind = MisuseKind::kWrongSize;
    sized.call = DeallocationKind::kAlignedDelete;
    sized.stated_size = 16;
    sized.stated_alignment = 64;
    sized.block.freed = false;
    add_misuse(sized, 1);
    Misuse unknown;
    unknown.kind = MisuseKind::kUnknownPointer;
    unknown.found = again.found;
    unknown.address = 0x7fff0000;
    add_misuse(unknown, 1);
    Misuse read;
    read.kind = MisuseKind::kReadBehind;
    read.found = again.found;
    read.address = 0x6010;
    read.block = behind.block;
    read.access = {.function = "memcpy", .address = 0x6010, .bytes = 40};
    add_misuse(read, 3);
  }
  void add_misuse(const Misuse& misuse, std::uint64_t times) {
    static_cast<void>(snapshot.misuses.push_back({misuse, times}));
  }
  void add(const StackSummary& stack) { static_cast<void>(snapshot.stacks.push_back(stack)); }

  Snapshot snapshot;
  ModuleTable modules;
  ProgramInfo program{
      .pid = 4711, .executable = "/opt/game/bin/game", .command = {"game\0--level\0003", 14}};
  BackendInfo backend{.hook = "interpose",
                      .stack = "backtrace",
                      .max_frames = 256,
                      .symbolizer = "fake",
                      .blind_spots = "what nobody sees"};
  std::vector<FakeSymbolizer::Function> names;

 private:
  /// What is live by size, and a minute with its peak in the middle.
  void add_history(StackId deep, StackId shallow) {
    snapshot.sizes[size_class(1)] = {2, 3};
    snapshot.sizes[size_class(4096)] = {10, 40960};
    snapshot.sizes[size_class((1 << 20) - 1)] = {1, (1 << 20) - 1};
    for (std::uint64_t i = 0; i < 3; ++i) {
      static_cast<void>(snapshot.timeline.push_back(
          {.time_ns = kStart + static_cast<std::int64_t>(i) * kMinute / 2,
           .live_bytes = std::uint64_t{i == 1 ? 3u : 1u} << 20,
           .live_allocations = 10 * i,
           .allocations = 100'000 * i,
           .allocated_bytes = 2'000'000 * i,
           .resident_bytes = 8 << 20}));
    }
    static_cast<void>(snapshot.markers.push_back({kStart + kMinute / 4, "level <1> loaded"}));
    snapshot.peak = {.time_ns = kStart + kMinute / 2, .live_bytes = 3 << 20, .stacks = {}};
    static_cast<void>(snapshot.peak.stacks.push_back({deep, 20, 1 << 20}));
    static_cast<void>(snapshot.peak.stacks.push_back({shallow, 2, 2 << 20}));
  }

  static constexpr std::int64_t kMinute = 60'000'000'000;
  static constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

  std::unique_ptr<StackTable> table_ = std::make_unique<StackTable>();
};

/// What `policy` makes of `report`.
template <DumpPolicy Policy, std::derived_from<Report> AnyReport>
[[nodiscard]] std::string render(const Policy& policy, const AnyReport& report) {
  MemoryOutput output;
  DumpWriter writer(output);
  policy.write(report, writer);
  const Status status = writer.finish();
  return status.ok() ? std::string(output.text()) : std::string(status.message());
}

}  // namespace alloctap::testing
