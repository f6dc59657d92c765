// Backend case 24: five other pairs of a sanitizer's hooks are installed, so a tracker
// cannot start, and says why. Exits with 0 where that is so.
#include <cstdio>
#include <string>

#include "alloctap/hook/malloc_hooks.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"

namespace {

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::MallocHooks;
};

void ignore_allocation(const volatile void*, std::size_t) {}
void ignore_free(const volatile void*) {}

}  // namespace

int main() {
  for (int i = 0; i < 5; ++i) {
    if (alloctap::SanitizerRuntime::install(&ignore_allocation, &ignore_free) == 0) return 2;
  }
  const auto session = alloctap::Tracker<Config>::start();
  const std::string said = to_string(session.status());
  std::puts(said.c_str());
  const bool refused = session.status().code() == alloctap::StatusCode::kFailedPrecondition;
  return refused && said.find("no place left: five other pairs") != std::string::npos ? 0 : 1;
}
