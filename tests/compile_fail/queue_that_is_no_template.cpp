// EXPECT: Config::Queue does not model EventQueuePolicy: see alloctap/queue/event_queue.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Queue {};
#else
using Queue = alloctap::DirectQueue;
#endif

struct Config : alloctap::DefaultConfig {
  using Queue = ::Queue;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
