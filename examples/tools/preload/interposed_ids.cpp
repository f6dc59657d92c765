// The functions that set the user and group ids of a process. The kernel has those of threads
// alone, so the C library makes each of its threads follow, and must count on the one that writes
// reports: reports are to be written by whom the program has become.
#include <grp.h>
#include <sys/types.h>
#include <unistd.h>

#include <alloctap/macros.hpp>

#include "final_report.hpp"
#include "signal_functions.hpp"
#include "single_threaded.hpp"

namespace {

using namespace alloctap::run;

template <class Signature>
using Pointer = Signature*;

template <class... Arguments>
int set_for_all_threads(Pointer<int(Arguments...)>& known, const char* name,
                        Arguments... arguments) noexcept {
  auto* const real = next_function(known, name);
  const SingleThreadedKept kept;
  if (report_owed()) kept.admit_others();
  return real(arguments...);
}

}  // namespace

extern "C" {

ALLOCTAP_EXPORT int setuid(uid_t user) noexcept {
  static constinit Pointer<int(uid_t)> known = nullptr;
  return set_for_all_threads(known, "setuid", user);
}

ALLOCTAP_EXPORT int seteuid(uid_t effective) noexcept {
  static constinit Pointer<int(uid_t)> known = nullptr;
  return set_for_all_threads(known, "seteuid", effective);
}

ALLOCTAP_EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  static constinit Pointer<int(uid_t, uid_t)> known = nullptr;
  return set_for_all_threads(known, "setreuid", real, effective);
}

ALLOCTAP_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  static constinit Pointer<int(uid_t, uid_t, uid_t)> known = nullptr;
  return set_for_all_threads(known, "setresuid", real, effective, saved);
}

ALLOCTAP_EXPORT int setgid(gid_t group) noexcept {
  static constinit Pointer<int(gid_t)> known = nullptr;
  return set_for_all_threads(known, "setgid", group);
}

ALLOCTAP_EXPORT int setegid(gid_t effective) noexcept {
  static constinit Pointer<int(gid_t)> known = nullptr;
  return set_for_all_threads(known, "setegid", effective);
}

ALLOCTAP_EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  static constinit Pointer<int(gid_t, gid_t)> known = nullptr;
  return set_for_all_threads(known, "setregid", real, effective);
}

ALLOCTAP_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  static constinit Pointer<int(gid_t, gid_t, gid_t)> known = nullptr;
  return set_for_all_threads(known, "setresgid", real, effective, saved);
}

ALLOCTAP_EXPORT int setgroups(size_t count, const gid_t* groups) noexcept {
  static constinit Pointer<int(size_t, const gid_t*)> known = nullptr;
  return set_for_all_threads(known, "setgroups", count, groups);
}
}
