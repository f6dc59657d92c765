#include <sys/wait.h>
#include <unistd.h>

#include "../allocation_ways.hpp"
#include "families.hpp"

namespace corpus {
namespace {

char* make() { return portable_ways().front().make(); }

/// `body` runs in a child, which ends like a program that was started, with what it has to say of
/// its memory. A child that a signal ends is told by the signal's number and 128, as by a shell.
template <typename Body>
void run_in_child(const Cases& all, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    if (all.runs_one()) {
      std::exit(0);
    }
    _exit(0);
  }
  int status = 0;
  require(waitpid(child, &status, 0) == child, "a child is waited for");
  if (status != 0) {
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

void free_inherited(const Cases& all, int in_child) {
  char* const block = make();
  run_in_child(all, [&] {
    for (int i = 0; i < in_child; ++i) {
      std::free(hidden(block));
    }
  });
  std::free(hidden(block));
}

void free_before_and_in_child(const Cases& all) {
  char* const block = make();
  std::free(hidden(block));
  run_in_child(all, [&] { std::free(hidden(block)); });
}

void write_freed_in_child(const Cases& all) {
  char* const block = make();
  run_in_child(all, [&] {
    std::free(hidden(block));
    write_byte(block, 0);
  });
  std::free(hidden(block));
}

}  // namespace

void add_fork(Cases& cases) {
  constexpr Misuse kFreedTwice{Kind::kDoubleFree, kCalls};
  cases.add({"fork", "inherited", "good_freed_in_both"}, kGood,
            [](const Cases& all) { free_inherited(all, 1); });
  cases.add({"fork", "inherited", "good_freed_by_parent"}, kGood, [](const Cases& all) {
    char* volatile block = make();
    run_in_child(all, [&] { write_byte(block, 0); });
    std::free(hidden(static_cast<char*>(block)));
  });
  cases.add({"fork", "inherited", "freed_twice_in_child"}, kFreedTwice,
            [](const Cases& all) { free_inherited(all, 2); });
  cases.add({"fork", "inherited", "freed_before_and_in_child"}, kFreedTwice,
            free_before_and_in_child);
  cases.add({"fork", "inherited", "written_after_free_in_child"},
            {Kind::kWriteAfterFree, kFreedFill | kFreedPage}, write_freed_in_child);
}

}  // namespace corpus
