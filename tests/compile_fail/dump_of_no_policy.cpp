// EXPECT: DumpPolicy
#include <alloctap/impl/tracker.hpp>

struct Dump : alloctap::DumpPolicyArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  void write(const alloctap::Report&, alloctap::DumpWriter&) {}  // Not const.
#endif
};

int main() {
  return alloctap::Tracker<>::dump(Dump{}, alloctap::DumpOutputArchetype{}).ok() ? 0 : 1;
}
