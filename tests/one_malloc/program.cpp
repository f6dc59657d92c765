// Allocates as often as it is told, always from one stack, with the default config of alloctap-run.
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <cstdlib>

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

void* volatile escaped;

int main(int count, char** arguments) {
  const auto session = Tracker::start();
  const int calls = count > 1 ? std::atoi(arguments[1]) : 0;
  for (int i = 0; i < calls; ++i) {
    escaped = std::malloc(100);
    std::free(escaped);
  }
  return session.ok() ? 0 : 1;
}
