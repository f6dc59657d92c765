// usage: one_thread WAY
// Prints what the C library thinks of the number of threads: 1 where it takes the process to have
// one, as the program sees it and as the library has it. WAY: alone does nothing more, forks prints
// it in a child, threads prints it after a second thread has come and gone and the user id was set
// to what it is, becomes prints it once the process belongs to nobody; it ends with the number of
// the step after which not all threads had the same ids, or 0.
#include <dlfcn.h>
#include <grp.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace {

void tell() {
  const auto* own = static_cast<const char*>(::dlsym(RTLD_NEXT, "__libc_single_threaded"));
  std::printf("%d %d\n", __libc_single_threaded, own == nullptr ? -1 : *own);
  std::fflush(stdout);
}

int tell_in_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    tell();
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// All lines about ids that the threads have.
std::set<std::string> ids() {
  std::set<std::string> lines;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Uid:") || line.starts_with("Gid:") || line.starts_with("Groups:")) {
        lines.insert(line);
      }
    }
  }
  return lines;
}

bool all_have(const char* ids_of_user, const char* ids_of_group) {
  return ids() == std::set<std::string>{std::string("Uid:\t") + ids_of_user,
                                        std::string("Gid:\t") + ids_of_group, "Groups:\t7 "};
}

/// 0, or the number of the step after which not all threads have the same ids.
int become_nobody() {
  const gid_t groups[] = {7};
  if (::setgroups(1, groups) != 0 || !all_have("0\t0\t0\t0", "0\t0\t0\t0")) return 1;
  if (::setegid(1) != 0 || !all_have("0\t0\t0\t0", "0\t1\t0\t1")) return 2;
  if (::setregid(2, 3) != 0 || !all_have("0\t0\t0\t0", "2\t3\t3\t3")) return 3;
  if (::setresgid(4, 5, 6) != 0 || !all_have("0\t0\t0\t0", "4\t5\t6\t5")) return 4;
  if (::setgid(65534) != 0 || !all_have("0\t0\t0\t0", "65534\t65534\t65534\t65534")) return 5;
  const char* const group = "65534\t65534\t65534\t65534";
  if (::seteuid(1) != 0 || !all_have("0\t1\t0\t1", group)) return 6;
  if (::seteuid(0) != 0 || ::setresuid(2, 0, 3) != 0 || !all_have("2\t0\t3\t0", group)) return 7;
  if (::setreuid(0, 0) != 0 || !all_have("0\t0\t0\t0", group)) return 8;
  if (::setuid(65534) != 0 || !all_have("65534\t65534\t65534\t65534", group)) return 9;
  return 0;
}

}  // namespace

int main(int, char** argv) {
  const std::string_view way = argv[1];
  if (way == "forks") return tell_in_child();
  int step = 0;
  if (way == "threads") {
    std::thread([] {}).join();
    step = ::setuid(::getuid());
  }
  if (way == "becomes") step = become_nobody();
  tell();
  return step;
}
