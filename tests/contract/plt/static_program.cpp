// A program that is linked statically has no slots. Prints what `start` says; exits with 0 where it
// refuses.
#include <cstdio>

#include "alloctap/hook/plt_hook.hpp"
#include "alloctap/tracker.hpp"

namespace {

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::PltHook;
};

}  // namespace

int main() {
  const auto session = alloctap::Tracker<Config>::start();
  std::puts(session.status().ToString().c_str());
  return absl::IsFailedPrecondition(session.status()) ? 0 : 1;
}
