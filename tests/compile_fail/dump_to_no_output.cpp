// EXPECT: DumpOutput
#include <alloctap/dump/text_dump.hpp>
#include <alloctap/impl/tracker.hpp>

struct Output : alloctap::DumpOutputArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  bool commit() { return true; }
#endif
};

int main() { return alloctap::Tracker<>::dump(alloctap::TextDump{}, Output{}).ok() ? 0 : 1; }
