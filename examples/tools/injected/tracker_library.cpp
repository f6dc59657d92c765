// The library that alloctap-run loads into a program of Windows before its first instruction.
#include <alloctap/os/windows/dump_key.hpp>
#include <alloctap/runtime/arena.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <array>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "alloctap/status.hpp"
#include "child_processes.hpp"
#include "preload/define_tracker_calls.hpp"
#include "preload/final_report.hpp"
#include "preload/misuse_line.hpp"
#include "preload/run_suppressions.hpp"
#include "preload/standard_error.hpp"
#include "process_end.hpp"
#include "report_thread.hpp"
#include "run_tracker.hpp"
#include "settings.hpp"

namespace alloctap::run {
namespace {

/// The settings point into it.
constinit std::array<char, kMaxEncodedBytes> encoded_settings{};
constinit std::optional<Settings> settings;
constinit os::DumpEvent dump_event;

/// What alloctap-run tells goes with its call.
std::string_view keep(std::string_view text) noexcept {
  return {encoded_settings.data(), text.copy(encoded_settings.data(), encoded_settings.size())};
}

bool start_tracker() noexcept {
  RunHook::choose(settings->hook.choice);
  select_checks(settings->checks);
  ::alloctap::SinkOf<RunTracker>::record_mappings(settings->hook.mappings);
  static_cast<void>(RunConfig::Stack::select(name_of(kStackNames, settings->stack)));
  RunTracker::set_max_frames(settings->max_frames);
  RunConfig::Sampling::set({.mean_bytes = settings->mean_bytes,
                            .min_bytes = settings->min_size,
                            .max_bytes = settings->max_size});
  limit_event_log(::alloctap::SinkOf<RunTracker>::queue(), settings->event_bytes);
  Result<Session> session = RunTracker::start();
  print_error(session.status());
  if (!session.ok()) return false;
  // Recording ends with the process.
  static_cast<void>(new (Arena::allocate(sizeof(Session))) Session(std::move(*session)));
  return true;
}

/// False where nothing is tracked; why is said on stderr.
bool start(std::string_view text) noexcept {
  const UseInternalArena own;
  note_standard_error();
  settings = decode(keep(text));
  if (!settings) {
    print_line("this library is not of the same version as alloctap-run; nothing is tracked");
    return false;
  }
  if (!start_tracker()) return false;
  owe_report(*settings);
  load_suppressions(*settings);
  const bool serves = start_report_thread();
  if (serves && dump_event.start(&request_dump) != 0) {
    print_line("cannot make the event that asks for dumps: somebody has one of that name");
  }
  // A program that forbids patches of code gets its report where its libraries are told of the end.
  if (RunHook::patches_code()) print_error(watch_the_end());
  if (settings->follow_children) print_error(follow_children(text));
  return true;
}

}  // namespace

void RunConfig::on_misuse(const Misuse& misuse) noexcept { print_misuse(misuse); }

}  // namespace alloctap::run

extern "C" {

/// Called by alloctap-run in a thread of its own, once the library is loaded: then no lock of the
/// loader is held. `settings` as settings.hpp has them. 0 where the program is tracked.
__declspec(dllexport) DWORD WINAPI alloctap_run_start(const char* settings) {
  return alloctap::run::start(settings) ? 0 : 1;
}

BOOL WINAPI DllMain(HINSTANCE, DWORD reason, void* process_ends) {
  if (reason == DLL_PROCESS_DETACH && process_ends != nullptr) alloctap::run::settle_report_alone();
  return TRUE;
}
}
