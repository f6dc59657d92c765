#include <alloctap/alloctap.hpp>
#include <alloctap/version.hpp>
#include <string_view>

static_assert(std::string_view(alloctap::kVersionString) == EXPECTED_VERSION);

int main() {}
