#include "children_hint.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <alloctap/os/process.hpp>
#include <alloctap/os/thread_local.hpp>
#include <array>
#include <atomic>
#include <cstdint>

#include "confinement.hpp"
#include "final_report.hpp"

namespace alloctap::run {
namespace {

/// Programs whose work is to start others.
constexpr auto kRunners = std::to_array<std::string_view>(
    {"ash", "bash", "busybox", "csh", "dash", "fish", "gmake", "ksh", "ksh93", "make", "mksh",
     "ninja", "sh", "tcsh", "time", "timeout", "xargs", "yash", "zsh"});

bool is_runner() noexcept {
  char buffer[kPathBytes];
  const std::string_view path = os::executable_path(buffer);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::find(kRunners.begin(), kRunners.end(), name) != kRunners.end();
}

std::int64_t microseconds(const rusage& usage) noexcept {
  constexpr std::int64_t kSecond = 1'000'000;
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * kSecond + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

/// Far apart, and long enough, for a start of the tracker not to matter.
bool left_work_to(const rusage& children) noexcept {
  constexpr std::int64_t kLeast = 1'000'000;
  constexpr std::int64_t kTimes = 10;
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  return microseconds(children) >= std::max(kLeast, kTimes * microseconds(own));
}

bool is_hint_wanted() noexcept {
  const Settings& settings = report_settings();
  if (settings.follow_children || settings.children_hint == ChildrenHint::kNever) return false;
  return settings.dump_count == 0 || settings.children_hint == ChildrenHint::kAlways;
}

/// Of the children that this process waited for.
bool read_children(rusage& children) noexcept {
  return may_call(SYS_getrusage) && ::getrusage(RUSAGE_CHILDREN, &children) == 0 &&
         children.ru_maxrss > 0;
}

constinit std::atomic<bool> was_asked{false};
constinit bool had_earlier_children = false;
/// From the first helper on, which is a child too.
constinit std::atomic<bool> has_helpers{false};
constinit bool had_children_before_helpers = false;
constinit rusage children_of_program{};

}  // namespace

void note_earlier_children() noexcept {
  rusage children{};
  had_earlier_children = read_children(children);
}

void note_helper() noexcept {
  if (has_helpers.load(std::memory_order_acquire)) return;
  const os::ErrnoGuard preserve_error;
  had_children_before_helpers = read_children(children_of_program);
  has_helpers.store(true, std::memory_order_release);
}

bool has_untracked_children() noexcept {
  if (was_asked.exchange(true) || !is_hint_wanted()) return false;
  if (had_earlier_children) return true;
  if (has_helpers.load(std::memory_order_acquire)) return had_children_before_helpers;
  const os::ErrnoGuard preserve_error;
  return read_children(children_of_program);
}

bool did_little_else() noexcept {
  constexpr std::uint64_t kLittle = 512 * 1024;
  const os::ErrnoGuard preserve_error;
  return had_earlier_children || allocated_bytes_in_report() < kLittle || is_runner() ||
         left_work_to(children_of_program);
}

}  // namespace alloctap::run
