// EXPECT: Config::Queue does not model EventQueuePolicy: see alloctap/queue/event_queue.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Queue {
  template <class Consumer>
  struct For {
    constexpr explicit For(Consumer&) noexcept {}
    void push_allocation(const alloctap::RecordedAllocation&) noexcept {}
    void push_deallocation(void*) noexcept {}
  };
};
#else
using Queue = alloctap::DirectQueue;
#endif

struct Config : alloctap::DefaultConfig {
  using Queue = ::Queue;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
