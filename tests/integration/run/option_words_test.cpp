#include "examples/tools/option_words.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace {

using namespace alloctap::run;
namespace fs = std::filesystem;

/// The texts of the library's headers in which messages are, with pieces of one literal joined.
std::string library_texts() {
  std::string texts;
  const fs::path root = fs::path(ALLOCTAP_SOURCES) / "include/alloctap";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".hpp" || entry.path().filename() == "html_page.hpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    texts += std::regex_replace(text, std::regex("\"\\s*\\n\\s*\""), "");
  }
  return texts;
}

TEST_CASE("whatever is said in other words is something that the library says") {
  const std::string texts = library_texts();
  for (const Rewording& rewording : kRewordings) {
    const std::string text(rewording.first);
    CAPTURE(text);
    CHECK(texts.find(text) != std::string::npos);
  }
}

TEST_CASE("messages speak of options, not of macros and types") {
  for (const Rewording& rewording : kRewordings) {
    const std::string words = in_option_words(std::string(rewording.first));
    CAPTURE(words);
    for (const char* name : {"ALLOCTAP_", "Hook", "FunctionPatch", "refresh()", "HeaptrackDump"}) {
      CHECK(words.find(name) == std::string::npos);
    }
  }
  CHECK(in_option_words("nothing of it") == "nothing of it");
}

}  // namespace
