// WindowsImportHook under the cases of backends on Windows.
#include "alloctap/hook/windows_import_hook.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

namespace alloctap::testing {
namespace {

struct ImportConfig : DefaultConfig {
  using Hook = WindowsImportHook;
  using Stack = NoStack;
};

Sees expected() { return {.unknown_frees = false}; }

}  // namespace

const HookedProgram hooked_program = hooked_program_of<Tracker<ImportConfig>>(&expected);

}  // namespace alloctap::testing
