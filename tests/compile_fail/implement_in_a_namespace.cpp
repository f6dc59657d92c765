// EXPECT: ALLOCTAP_IMPLEMENT must be placed outside of namespaces
#include <alloctap/implement.hpp>

namespace game {

struct Config : alloctap::DefaultConfig {};
using Tracker = alloctap::Tracker<Config>;

#ifdef ALLOCTAP_COMPILE_FAIL
ALLOCTAP_IMPLEMENT(Tracker, alloctap::TextDump);
#endif

}  // namespace game

#ifndef ALLOCTAP_COMPILE_FAIL
// A dump that is listed twice is no mistake.
ALLOCTAP_IMPLEMENT(game::Tracker, alloctap::TextDump, alloctap::FoldedDump, alloctap::TextDump);
#endif
