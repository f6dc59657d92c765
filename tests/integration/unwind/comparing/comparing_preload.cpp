// Preloaded into a program, compares every stack that is captured in it with what the compiler's
// own unwinder sees, and leaves a line of JSON about it when the process ends.
//
// ALLOCTAP_COMPARE: the file to append the line to; without it nothing is compared.
// ALLOCTAP_COMPARE_EVERY: compare one capture in so many.
// ALLOCTAP_COMPARE_FRAMES: the most frames of a stack.
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <alloctap/hook/interpose_hook.hpp>
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <alloctap/symbol/bounded_text.hpp>
#include <array>
#include <charconv>
#include <new>
#include <utility>

#include "alloctap/status.hpp"
#include "tests/support/comparing_stack.hpp"

namespace {

using namespace alloctap;
using testing::StackComparison;
using testing::StackDifference;
using Comparing = testing::ComparingStack<UnwindTableStack, BacktraceStack>;
using Json = rapidjson::Writer<rapidjson::StringBuffer>;

struct ComparingConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Stack = Comparing;
  static constexpr Limits limits{.max_frames = ThreadState::kMaxFrames};
  static constexpr ConfigFeatures features{.on_first_call = true};

  static void on_first_call() noexcept;
};
using ComparingTracker = Tracker<ComparingConfig>;

/// Of the text of the line. What this thread allocates to write it is the tracker's own, of which
/// there is little, and what grows takes that several times.
constexpr std::size_t kTextBytes = 128 * 1024;
/// Where the line goes.
constinit std::array<char, 4096> path{};
/// Whose line is still to be written.
constinit std::atomic<os::ProcessId> owing_process{0};

std::uint32_t number_in_environment(std::string_view name, std::uint32_t otherwise) {
  std::array<char, 32> buffer{};
  const std::string_view text = os::initial_environment(name, buffer);
  std::uint32_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void write(Json& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void write(Json& json, std::string_view key, std::uint64_t number) {
  write(json, key);
  json.Uint64(number);
}

/// "function module+0xoffset", as far as they are known.
void write_frame(Json& json, std::uintptr_t address, const ModuleTable& modules) {
  std::array<char, 512> name{};
  std::array<char, 1024> buffer{};
  BoundedText text(buffer);
  text.append(AbslSymbolizer::name_of(address - 1, name));
  const Module* module = modules.find(address);
  std::array<char, 32> digits{};
  const std::uintptr_t offset = module != nullptr ? address - module->bias : address;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), offset, 16).ptr;
  text.append(" ");
  text.append(module != nullptr ? module->path : std::string_view("?"));
  text.append("+0x");
  text.append({digits.data(), end});
  write(json, text.text());
}

void write_stack(Json& json, std::string_view key, const CapturedStack& stack,
                 std::span<const std::uintptr_t> frames, const ModuleTable& modules) {
  write(json, key);
  json.StartObject();
  write(json, "depth", stack.depth);
  write(json, "truncated", stack.truncated ? 1 : 0);
  write(json, "failed", stack.failed ? 1 : 0);
  write(json, "frames");
  json.StartArray();
  for (const std::uintptr_t address : frames) {
    if (address != 0) write_frame(json, address, modules);
  }
  json.EndArray();
  json.EndObject();
}

void write_difference(Json& json, const StackDifference& difference, const ModuleTable& modules) {
  json.StartObject();
  write(json, "first_kept", difference.first_kept);
  write(json, "first_different", difference.first_different);
  write(json, "wrong_hash", difference.wrong_hash ? 1 : 0);
  write_stack(json, "tested", difference.tested, difference.tested_frames, modules);
  write_stack(json, "trusted", difference.trusted, difference.trusted_frames, modules);
  json.EndObject();
}

void write_counts(Json& json, const StackComparison& comparison) {
  write(json, "captures", comparison.captures);
  write(json, "compared", comparison.compared);
  write(json, "different", comparison.different);
  write(json, "different_depth", comparison.different_depth);
  write(json, "different_truncated", comparison.different_truncated);
  write(json, "different_failed", comparison.different_failed);
  write(json, "different_frames", comparison.different_frames);
  write(json, "wrong_hash", comparison.wrong_hash);
  write(json, "tested_failed", comparison.tested_failed);
  write(json, "trusted_failed", comparison.trusted_failed);
  write(json, "truncated", comparison.truncated);
  write(json, "by_records", comparison.by_records);
  write(json, "frames", comparison.frames);
  write(json, "deepest", comparison.deepest);
}

void write_line() noexcept {
  const os::ProcessId owing = owing_process.load();
  if (owing == 0 || owing != os::current_process_id()) return;
  owing_process.store(0);
  const UseInternalArena own;
  const ModuleTable modules = ModuleTable::read();
  std::array<char, 4096> executable{};
  rapidjson::StringBuffer text(nullptr, kTextBytes);
  Json json(text);
  json.StartObject();
  write(json, "program");
  write(json, os::executable_path(executable));
  write_counts(json, Comparing::comparison());
  write(json, "differences");
  json.StartArray();
  for (const StackDifference& difference : Comparing::differences()) {
    if (text.GetSize() > kTextBytes / 2) break;
    write_difference(json, difference, modules);
  }
  json.EndArray();
  json.EndObject();
  int error = 0;
  const os::File file = os::open_for_appending(path.data(), error);
  if (!file.is_open()) return;
  text.Put('\n');
  os::write_all(file.descriptor(), {text.GetString(), text.GetSize()});
}

[[noreturn]] void write_line_and_leave(int status) noexcept {
  write_line();
  for (;;) ::syscall(SYS_exit_group, status);
}

void in_forked_child() noexcept {
  Comparing::forget();
  owing_process.store(os::current_process_id());
}

bool start_tracker() noexcept {
  ComparingTracker::set_max_frames(number_in_environment("ALLOCTAP_COMPARE_FRAMES", 256));
  Comparing::compare_every(number_in_environment("ALLOCTAP_COMPARE_EVERY", 1));
  alloctap::Result<Session> session = ComparingTracker::start();
  if (!session.ok()) return false;
  // Recording ends with the process.
  static_cast<void>(new (Arena::allocate(sizeof(Session))) Session(std::move(*session)));
  return ForkHandlers::install(&in_forked_child);
}

}  // namespace

extern "C" {
// glibc's own; atexit would tie the call to the unloading of this object.
int __cxa_atexit(void (*function)(void*), void* argument, void* object) noexcept;

ALLOCTAP_EXPORT void _exit(int status) { write_line_and_leave(status); }
ALLOCTAP_EXPORT void _Exit(int status) noexcept { write_line_and_leave(status); }
}

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(ComparingTracker);

void ComparingConfig::on_first_call() noexcept {
  const UseInternalArena own;
  if (os::initial_environment("ALLOCTAP_COMPARE", path).empty() || !start_tracker()) return;
  owing_process.store(os::current_process_id());
  // The first to be registered and so the last to be called.
  __cxa_atexit([](void*) { write_line(); }, nullptr, nullptr);
}
