// EXPECT: Queue: the feature log and the member log go together
#include <alloctap/impl/tracker.hpp>

struct Mine {
  template <class Consumer>
  struct For : alloctap::DirectQueue::For<Consumer> {
    using alloctap::DirectQueue::For<Consumer>::For;
#ifdef ALLOCTAP_COMPILE_FAIL
    static constexpr alloctap::QueueFeatures features{.log = true};
#endif
  };
};

struct Config : alloctap::DefaultConfig {
  using Queue = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
