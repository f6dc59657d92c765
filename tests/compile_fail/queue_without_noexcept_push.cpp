// EXPECT: Config::Queue does not model EventQueuePolicy: see alloctap/queue/event_queue.hpp
#include <alloctap/impl/tracker.hpp>

struct Queue {
  template <class Consumer>
  struct For : alloctap::DirectQueue::For<Consumer> {
    using alloctap::DirectQueue::For<Consumer>::For;
#ifdef ALLOCTAP_COMPILE_FAIL
    void push_deallocation(void*) {}
#endif
  };
};

struct Config : alloctap::DefaultConfig {
  using Queue = ::Queue;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
