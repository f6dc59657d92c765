#include "launcher/guard_pages.hpp"

#include <algorithm>
#include <alloctap/check/check_settings.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "launcher/failure.hpp"

namespace alloctap::run {

Status add_guard_pages(const std::string& value, std::string& checks) {
  const std::size_t comma = std::min(value.find(','), value.size());
  const std::string_view rate = std::string_view(value).substr(0, comma);
  const std::string_view edge = std::string_view(value).substr(std::min(comma + 1, value.size()));
  constexpr std::string_view kOneIn = "1/";
  std::uint64_t one_in = rate == "all" ? 1 : 0;
  if (rate.starts_with(kOneIn)) {
    const auto [stop, error] =
        std::from_chars(rate.data() + kOneIn.size(), rate.data() + rate.size(), one_in);
    if (error != std::errc{} || stop != rate.data() + rate.size()) one_in = 0;
  }
  const bool has_edge = comma < value.size();
  const bool is_edge = edge == "left" || edge == "right" || edge == "random";
  if (one_in < 1 || one_in > check_options::kRarestGuardPage || (has_edge && !is_edge)) {
    return Status::invalid_argument("--guard-pages ", in_quotes(value),
                                    ": write all, or 1/N with N from 1 to ",
                                    check_options::kRarestGuardPage,
                                    "; then, if you like, a comma and one of left, right, random");
  }
  append_text(checks, checks.empty() ? "" : " ", "guard_pages=", one_in);
  if (has_edge && edge != "right") {
    append_text(checks, " guard_pages_", edge);
  }
  return Status();
}

}  // namespace alloctap::run
