// Backend case 24: no allocator of this process has hooks. Prints what `start` says; exits
// with 0 where it refuses.
#include <cstdio>

#include "alloctap/hook/malloc_hooks.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"

namespace {

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::MallocHooks;
};

}  // namespace

int main() {
  const auto session = alloctap::Tracker<Config>::start();
  std::puts(to_string(session.status()).c_str());
  return session.status().code() == alloctap::StatusCode::kFailedPrecondition ? 0 : 1;
}
