#include "alloctap/session.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace {

using alloctap::Session;

int ended = 0;
int other_ended = 0;

Session make() {
  return Session([]() noexcept { ++ended; });
}
Session make_other() {
  return Session([]() noexcept { ++other_ended; });
}

struct FreshCounters {
  FreshCounters() { ended = other_ended = 0; }
};

}  // namespace

TEST_CASE_FIXTURE(FreshCounters, "a session ends with its life, once") {
  {
    const Session session = make();
    CHECK(ended == 0);
  }
  CHECK(ended == 1);
}

TEST_CASE_FIXTURE(FreshCounters, "a session may be ended before, and does not end again") {
  {
    Session session = make();
    session.end();
    CHECK(ended == 1);
    session.end();
  }
  CHECK(ended == 1);
}

TEST_CASE_FIXTURE(FreshCounters, "a session that was moved ends where it went") {
  {
    Session first = make();
    {
      const Session second(std::move(first));
      CHECK(ended == 0);
    }
    CHECK(ended == 1);
  }
  CHECK(ended == 1);
}

TEST_CASE_FIXTURE(FreshCounters, "a session that takes another's place is ended first") {
  {
    Session session = make();
    session = make_other();
    CHECK(ended == 1);
    CHECK(other_ended == 0);
  }
  CHECK(ended == 1);
  CHECK(other_ended == 1);
}

TEST_CASE_FIXTURE(FreshCounters, "a session that is assigned to itself goes on") {
  {
    Session session = make();
    Session& same = session;
    session = std::move(same);
    CHECK(ended == 0);
  }
  CHECK(ended == 1);
}
