// PltHook under the cases of hook backends: all modules are hooked, for pages too.
#include "alloctap/hook/plt_hook.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

namespace alloctap::testing {
namespace {

struct PltConfig : DefaultConfig {
  using Hook = PltHook;
  using Stack = NoStack;
};
using Program = TrackedProgram<Tracker<PltConfig>>;

std::string start_in_all_modules() {
  PltHook::clear_modules();
  const Status status = PltHook::group<MappingFunctions>().modules_matching(".");
  return status.ok() ? Program::start() : to_string(status);
}

Sees expected() { return {.loader = false, .unknown_frees = false}; }

}  // namespace

const HookedProgram hooked_program = {&start_in_all_modules, &Program::end, &Program::totals,
                                      &expected};

}  // namespace alloctap::testing
