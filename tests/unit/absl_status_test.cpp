#include "alloctap/absl_status.hpp"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

using namespace alloctap;

TEST_CASE("a status is the same as Abseil's, and back") {
  for (int code = 0; code <= 16; ++code) {
    CAPTURE(code);
    const Status status(static_cast<StatusCode>(code), code == 0 ? "" : "why");
    const absl::Status theirs = to_absl(status);
    CHECK(static_cast<int>(theirs.code()) == code);
    CHECK(theirs.message() == (code == 0 ? "" : "why"));
    CHECK(absl::StatusCodeToString(theirs.code()) == std::string(name_of(status.code())));
    CHECK(from_absl(theirs) == status);
  }
}

TEST_CASE("a result is the same as Abseil's, and back") {
  Result<std::unique_ptr<int>> one = std::make_unique<int>(1);
  absl::StatusOr<std::unique_ptr<int>> theirs = to_absl(std::move(one));
  REQUIRE(theirs.ok());
  CHECK(**theirs == 1);
  const Result<std::unique_ptr<int>> back = from_absl(std::move(theirs));
  REQUIRE(back.ok());
  CHECK(**back == 1);
  CHECK(to_absl(Result<int>(Status::not_found("none"))).status() == absl::NotFoundError("none"));
  CHECK(from_absl(absl::StatusOr<int>(absl::InternalError("oh"))).status() ==
        Status::internal("oh"));
}
