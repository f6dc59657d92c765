#include "alloctap/status.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "alloctap/message_text.hpp"
#include "tests/support/child_process.hpp"

namespace {

using namespace alloctap;

/// Counts those that live.
struct Counted {
  explicit Counted(int given) noexcept : value(given) { ++alive; }
  Counted(const Counted& other) noexcept : value(other.value) { ++alive; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }

  int value;
  static inline int alive = 0;
};

Result<std::unique_ptr<int>> make_number(bool works) {
  if (!works) return Status::not_found("no number");
  return std::make_unique<int>(7);
}

}  // namespace

TEST_CASE("a status of success has no message") {
  const Status status;
  CHECK(status.ok());
  CHECK(status.code() == StatusCode::kOk);
  CHECK(status.message().empty());
  CHECK(to_string(status) == "OK");
}

TEST_CASE("the message of a status is its parts, joined") {
  const std::string name = "a file";
  const std::string_view view = name;
  const Status status =
      Status::unavailable("cannot write ", name, " or ", view, ':', ' ', -1, ", ", UINT64_MAX, ", ",
                          INT64_MIN, "; ", std::uint8_t{255}, " ", 0, "");
  CHECK(!status.ok());
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() ==
        "cannot write a file or a file: -1, 18446744073709551615, -9223372036854775808; 255 0");
  CHECK(Status::internal("").message().empty());
  CHECK(Status::internal() == Status::internal(""));
  CHECK(!Status::internal("").ok());
}

TEST_CASE("truth values and enumerators in a message are no characters") {
  enum Plain { kSixtyFive = 65 };
  enum class Scoped : char { kLetter = 'A' };
  enum class Wide : std::uint64_t { kMaxCount = UINT64_MAX };
  CHECK(Status::not_found(true, ' ', false).message() == "true false");
  CHECK(Status::not_found(kSixtyFive, ' ', Scoped::kLetter).message() == "65 65");
  CHECK(Status::not_found(Wide::kMaxCount).message() == "18446744073709551615");
}

TEST_CASE("what is no text, character, truth value or integer is no part of a message") {
  struct Convertible {
    operator char() const { return 'c'; }
  };
  CHECK(!std::is_constructible_v<MessagePart, double>);
  CHECK(!std::is_constructible_v<MessagePart, float>);
  CHECK(!std::is_constructible_v<MessagePart, Convertible>);
  CHECK(!std::is_constructible_v<MessagePart, void*>);
}

TEST_CASE("a success has no message, whatever it was made with") {
  const Status status(StatusCode::kOk, "fine");
  CHECK(status.ok());
  CHECK(status.message().empty());
  CHECK(status == Status());
}

TEST_CASE("a status is copied, moved and compared by value") {
  Status first = Status::data_loss("cut short");
  const Status second = first;
  const Status third = std::move(first);
  CHECK(second == third);
  CHECK(third.message() == "cut short");
  CHECK(second != Status::data_loss("cut"));
  CHECK(second != Status::internal("cut short"));
  Status fourth;
  fourth = third;
  fourth = *&fourth;
  CHECK(fourth == third);
}

TEST_CASE("of several errors the first remains") {
  Status status;
  status.update(Status());
  CHECK(status.ok());
  status.update(Status::cancelled("one"));
  status.update(Status::aborted("two"));
  status.update(Status());
  CHECK(status == Status::cancelled("one"));
}

TEST_CASE("every failure has its code, and a name for it") {
  CHECK(to_string(Status::cancelled("x")) == "CANCELLED: x");
  CHECK(to_string(Status::invalid_argument("x")) == "INVALID_ARGUMENT: x");
  CHECK(to_string(Status::not_found("x")) == "NOT_FOUND: x");
  CHECK(to_string(Status::already_exists("x")) == "ALREADY_EXISTS: x");
  CHECK(to_string(Status::permission_denied("x")) == "PERMISSION_DENIED: x");
  CHECK(to_string(Status::resource_exhausted("x")) == "RESOURCE_EXHAUSTED: x");
  CHECK(to_string(Status::failed_precondition("x")) == "FAILED_PRECONDITION: x");
  CHECK(to_string(Status::aborted("x")) == "ABORTED: x");
  CHECK(to_string(Status::unimplemented("x")) == "UNIMPLEMENTED: x");
  CHECK(to_string(Status::internal("x")) == "INTERNAL: x");
  CHECK(to_string(Status::unavailable("x")) == "UNAVAILABLE: x");
  CHECK(to_string(Status::data_loss("x")) == "DATA_LOSS: x");
  CHECK(name_of(StatusCode::kUnauthenticated) == "UNAUTHENTICATED");
  CHECK(name_of(static_cast<StatusCode>(200)) == "UNKNOWN");
}

TEST_CASE("a status is written to streams") {
  std::ostringstream text;
  text << Status() << ", " << Status::not_found("no file");
  CHECK(text.str() == "OK, NOT_FOUND: no file");
}

TEST_CASE("a result has a value or says why not") {
  Result<std::unique_ptr<int>> number = make_number(true);
  REQUIRE(number.ok());
  CHECK(number.status().ok());
  CHECK(**number == 7);
  const std::unique_ptr<int> taken = *std::move(number);
  CHECK(*taken == 7);
  number = make_number(false);
  CHECK(!number.ok());
  CHECK(number.status() == Status::not_found("no number"));
  number = std::make_unique<int>(8);
  REQUIRE(number.ok());
  CHECK(*number->get() == 8);
  const Result<std::string> text = "converted";
  CHECK(*text == "converted");
  CHECK(text->size() == 9);
}

TEST_CASE("what is no value is an error") {
  const Result<int> nothing;
  CHECK(!nothing.ok());
  CHECK(nothing.status().code() == StatusCode::kUnknown);
  const Result<int> success = Status();
  CHECK(!success.ok());
  CHECK(success.status().code() == StatusCode::kInternal);
}

TEST_CASE("a result ends its value once") {
  {
    Result<Counted> one = Counted(1);
    CHECK(Counted::alive == 1);
    Result<Counted> two = one;
    CHECK(Counted::alive == 2);
    Result<Counted> three = std::move(one);
    CHECK(three->value == 1);
    CHECK(one.ok());
    two = Status::internal("gone");
    CHECK(Counted::alive == 2);
    two = three;
    CHECK(two->value == 1);
    two = *&two;
    CHECK(two->value == 1);
    three = Status::internal("gone");
    one = three;
    CHECK(Counted::alive == 1);
    CHECK(std::move(two).status().ok());
    CHECK(two->value == 1);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("a value that is not there ends the program") {
  CHECK(alloctap::testing::holds_in_child([] {
    std::signal(SIGABRT, [](int) { alloctap::testing::end_as_held(); });
    const Result<int> error = Status::not_found("no number");
    return *error == 0;
  }));
  CHECK(alloctap::testing::holds_in_child([] {
    std::signal(SIGABRT, [](int) { alloctap::testing::end_as_held(); });
    const Result<std::string> error = Status::not_found("no text");
    return error->size() == SIZE_MAX;
  }));
}
