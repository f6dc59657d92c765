#include <cstdio>
#include <string_view>

#include "corpus.hpp"
#include "families.hpp"

namespace {

using corpus::Cases;

constexpr const char* kUsage =
    "usage: misuse_corpus NAME     run one case; says \"begins\" before it, and \"done\" if it "
    "comes\n"
    "                              to its end\n"
    "       misuse_corpus --list   names, kinds of misuse and by what it can be seen, with tabs "
    "between\n"
    "       misuse_corpus --good   run all cases that do nothing wrong, in one process\n"
    "       misuse_corpus --compiler   what it was built by\n";

int run(Cases::Task task, std::string_view wanted) {
  Cases cases{task, wanted};
  corpus::add_portable_families(cases);
  corpus::add_system_families(cases);
  if (task == Cases::Task::kList) {
    return 0;
  }
  if (cases.run_count() == 0) {
    std::fprintf(stderr, "misuse_corpus: there is no case of that name; --list shows all\n");
    return 2;
  }
  std::puts("done");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string_view argument = arguments[1];
  if (argument == "--compiler") {
#ifdef __clang__
    std::puts("clang++ " __clang_version__);
#else
    std::puts("g++ " __VERSION__);
#endif
    return 0;
  }
  if (argument == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (argument == "--list") {
    return run(Cases::Task::kList, {});
  }
  return run(argument == "--good" ? Cases::Task::kRunGood : Cases::Task::kRunOne, argument);
}
