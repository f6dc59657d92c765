// InlineHook under the cases of hook backends.
#include "alloctap/hook/inline_hook.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

namespace alloctap::testing {
namespace {

struct InlineConfig : DefaultConfig {
  using Hook = InlineHook;
  using Stack = NoStack;
};

Sees expected() { return {.unknown_frees = false}; }

}  // namespace

const HookedProgram hooked_program = hooked_program_of<Tracker<InlineConfig>>(&expected);

}  // namespace alloctap::testing
