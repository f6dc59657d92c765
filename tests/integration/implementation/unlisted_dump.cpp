/// A mistake: tracker.cpp does not list this dump.
#include "game.hpp"

bool write_massif() {
  return Tracker::dump(alloctap::MassifDump{}, alloctap::DescriptorOutput(1)).ok();
}
