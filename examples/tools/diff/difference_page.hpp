/// The difference of two reports as a page.
#pragma once

#include <string_view>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// Writes the page of `HtmlDump` to `path`: what changed from one report to the other. Both are
/// whole reports in JSON. `path` is there whole or not at all.
[[nodiscard]] Status write_difference_page(std::string_view before, std::string_view after,
                                           std::string_view path);

}  // namespace alloctap::run
