#include "confinement.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <alloctap/os/linux/raw_system_call.hpp>
#include <atomic>
#include <bit>
#include <cstddef>

#include "final_report.hpp"
#include "seccomp_filter.hpp"

namespace alloctap::run {
namespace {

/// `kExit` is for what threads of the program call, `kFiles` and `kScan` for some reports.
enum Purpose : unsigned { kExit = 1, kSignals = 2, kReports = 4, kFiles = 8, kScan = 16 };

struct Call {
  long number;
  const char* name;
  unsigned purposes;
};

constexpr Call kCalls[] = {
    {SYS_futex, "futex", kExit | kReports},
    {SYS_getpid, "getpid", kExit | kSignals | kReports},
    {SYS_gettid, "gettid", kExit | kSignals | kReports},
    {SYS_tgkill, "tgkill", kSignals | kReports},
    {SYS_rt_sigaction, "rt_sigaction", kSignals},
    {SYS_rt_sigreturn, "rt_sigreturn", kSignals},
    {SYS_sigaltstack, "sigaltstack", kExit},
    {SYS_fstat, "fstat", kExit},
    {SYS_getrusage, "getrusage", kExit},
    // A newer C library's fstat.
    {SYS_newfstatat, "newfstatat", kExit | kReports},
    {SYS_clock_gettime, "clock_gettime", kReports},
    {SYS_close, "close", kReports},
    {SYS_fcntl, "fcntl", kReports},
    {SYS_getdents64, "getdents64", kReports},
    {SYS_lseek, "lseek", kReports},
    {SYS_madvise, "madvise", kReports},
    {SYS_membarrier, "membarrier", kReports},
    {SYS_mmap, "mmap", kReports},
    {SYS_munmap, "munmap", kReports},
    {SYS_openat, "openat", kReports},
    {SYS_pread64, "pread64", kReports},
    {SYS_read, "read", kReports},
    {os::kReadLinkCall, "readlink", kReports},
    {SYS_rt_sigprocmask, "rt_sigprocmask", kReports},
    {SYS_write, "write", kReports},
    {os::kRenameCall, "rename", kFiles},
    {os::kUnlinkCall, "unlink", kFiles},
    {SYS_clone, "clone", kScan},
    {SYS_ioctl, "ioctl", kScan},
    {SYS_mincore, "mincore", kScan},
    {SYS_pipe2, "pipe2", kScan},
    {SYS_prctl, "prctl", kScan},
    {SYS_process_vm_readv, "process_vm_readv", kReports | kScan},
    {SYS_ptrace, "ptrace", kScan},
    {SYS_wait4, "wait4", kScan},
};
static_assert(std::size(kCalls) <= 64);

/// By threads, and by the one that writes reports among them.
constinit std::atomic<std::uint64_t> refused_somewhere{0};
constinit std::atomic<std::uint64_t> refused_to_reports{0};

constexpr std::uint64_t bit(std::size_t place) noexcept { return std::uint64_t{1} << place; }

/// The set of the calls that `is_wanted` returns true for.
template <class IsWanted>
std::uint64_t calls_where(IsWanted is_wanted) noexcept {
  std::uint64_t set = 0;
  for (std::size_t i = 0; i < std::size(kCalls); ++i) {
    if (is_wanted(kCalls[i])) set |= bit(i);
  }
  return set;
}

std::uint64_t calls_for(unsigned purposes) noexcept {
  return calls_where([=](const Call& call) { return (call.purposes & purposes) != 0; });
}

std::uint64_t calls_for_reports() noexcept {
  const Settings& settings = report_settings();
  unsigned purposes = kReports;
  if (settings.dump_count > 0) purposes |= kFiles;
  if (settings.leaks == LeakChoice::kUnreachable) purposes |= kScan;
  return calls_for(purposes);
}

std::uint64_t bits_of(CallSet set) noexcept { return static_cast<std::uint64_t>(set); }

}  // namespace

CallSet calls_refused_by(std::span<const sock_filter> filter) noexcept {
  SeccompFilter program(filter);
  return CallSet{calls_where([&](const Call& call) {
    return !program.allows({.nr = static_cast<int>(call.number),
                            .arch = os::kAuditArchitecture,
                            .instruction_pointer = 0,
                            .args = {}});
  })};
}

CallSet calls_refused_by_strict_mode() noexcept {
  return CallSet{calls_where([](const Call& call) {
    return call.number != SYS_read && call.number != SYS_write && call.number != SYS_rt_sigreturn;
  })};
}

bool prevents_signals(CallSet refused) noexcept {
  return (bits_of(refused) & calls_for(kSignals)) != 0;
}

bool prevents_reports(CallSet refused) noexcept {
  return (bits_of(refused) & calls_for_reports()) != 0;
}

void add_refused_calls(CallSet refused, bool for_all_threads) noexcept {
  refused_somewhere.fetch_or(bits_of(refused));
  if (for_all_threads) refused_to_reports.fetch_or(bits_of(refused));
}

void inherit_refused_calls() noexcept { refused_to_reports.store(refused_somewhere.load()); }

bool may_call(long number) noexcept {
  const std::uint64_t refused = refused_somewhere.load(std::memory_order_relaxed);
  if (refused == 0) return true;
  return (refused & calls_where([=](const Call& call) { return call.number == number; })) == 0;
}

const char* call_missing_for_reports() noexcept {
  const std::uint64_t missing = refused_to_reports.load() & calls_for_reports();
  if (missing == 0) return nullptr;
  return kCalls[std::countr_zero(missing)].name;
}

}  // namespace alloctap::run
