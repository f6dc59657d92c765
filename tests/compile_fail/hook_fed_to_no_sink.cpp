// EXPECT: EventSink
#include <alloctap/hook/manual_hook.hpp>

struct Sink : alloctap::EventSinkArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static void on_allocate(const alloctap::AllocationEvent&) {}
#endif
};

int main() { return alloctap::ManualHook<Sink>::install<Sink>().ok() ? 0 : 1; }
