#include "alloctap/check/close_name.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

std::string close_to(std::string_view misspelt) {
  alloctap::CloseName close(misspelt);
  for (const char* name : {"guard", "rear_guard", "guard_pages", "fill", "fill_on_free", "html",
                           "json", "text", "verify_pointers", "verify_kinds"}) {
    close.offer(name);
  }
  return std::string(close.found());
}

}  // namespace

TEST_CASE("one edit is close: a letter too many, too few, another, or two in the wrong order") {
  CHECK(close_to("guardd") == "guard");
  CHECK(close_to("gard") == "guard");
  CHECK(close_to("gusrd") == "guard");
  CHECK(close_to("gurad") == "guard");
  CHECK(close_to("jsno") == "json");
  CHECK(close_to("htm") == "html");
}

TEST_CASE("a longer name may have more of them") {
  CHECK(close_to("verfy_pointer") == "verify_pointers");
  CHECK(close_to("fil_onfree") == "fill_on_free");
}

TEST_CASE("case and the line between words do not matter") {
  CHECK(close_to("Guard-Pages") == "guard_pages");
  CHECK(close_to("JSON") == "json");
}

TEST_CASE("a beginning is close, by three letters or more; the first name counts") {
  CHECK(close_to("verify") == "verify_pointers");
  CHECK(close_to("rear") == "rear_guard");
  CHECK(close_to("ve").empty());
}

TEST_CASE("another word is not close") {
  CHECK(close_to("").empty());
  CHECK(close_to("x").empty());
  CHECK(close_to("xml").empty());
  CHECK(close_to("svg").empty());
  CHECK(close_to("quarantine").empty());
  CHECK(close_to(std::string(1000, 'g')).empty());
}

TEST_CASE("a name that is too long is never found") {
  const std::string name(64, 'g');
  alloctap::CloseName close(std::string_view(name).substr(1));
  close.offer(name);
  CHECK(close.found().empty());
  close.offer(std::string_view(name).substr(2));
  CHECK(close.found().size() == 62);
}
