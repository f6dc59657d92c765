// Runs PROGRAM where memory may not become code: forbids_code any|writable PROGRAM [ARGS...]
#include <unistd.h>

#include <string_view>

#include "tests/support/forbid_code.hpp"

int main(int count, char** arguments) {
  using alloctap::testing::ForbiddenCode;
  if (count < 3) return 2;
  const bool any = std::string_view(arguments[1]) == "any";
  if (!alloctap::testing::forbid_code(any ? ForbiddenCode::kAny : ForbiddenCode::kWritable)) {
    return 3;
  }
  execv(arguments[2], arguments + 2);
  return 4;
}
