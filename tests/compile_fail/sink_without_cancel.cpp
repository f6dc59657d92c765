// EXPECT: EventSink
#include <alloctap/hook/call_wrapper.hpp>

struct Sink : alloctap::EventSinkArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static bool cancel_unmap(alloctap::DetachedMappings&) noexcept { return true; }
#endif
};

struct Originals {};

int main() { return sizeof(alloctap::CallWrapper<Originals, Sink>) == 0 ? 1 : 0; }
