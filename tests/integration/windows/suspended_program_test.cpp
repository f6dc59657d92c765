// Programs that stand before their first instruction, a library that is put into them, and what is
// said where that cannot be.
#include "launcher/windows/suspended_program.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "windows/program_image.hpp"

namespace {

using namespace alloctap::run;

std::wstring full_path(const char* path) {
  std::wstring wide(path, path + std::string(path).size());
  std::wstring full(1024, L'\0');
  full.resize(::GetFullPathNameW(wide.c_str(), 1024, full.data(), nullptr));
  return full;
}

const std::wstring kProgram = full_path(ALLOCTAP_RUN_PROGRAM);
const std::wstring kLibrary = full_path(ALLOCTAP_WINDOWS_PLUGIN);

SuspendedProgram started(const wchar_t* arguments) {
  auto program = SuspendedProgram::start(kProgram, L"\"" + kProgram + L"\" " + arguments);
  CAPTURE(to_string(program.status()));
  REQUIRE(program.ok());
  return *std::move(program);
}

bool lives(std::uint32_t id) {
  const alloctap::os::Handle process(::OpenProcess(SYNCHRONIZE, FALSE, id));
  return process && ::WaitForSingleObject(process.get(), 2000) == WAIT_TIMEOUT;
}

std::string message_of(const alloctap::Status& status) { return std::string(status.message()); }

}  // namespace

TEST_CASE("a program runs as it would alone, and its exit code is handed on") {
  SuspendedProgram program = started(L"");
  const auto code = program.run();
  REQUIRE(code.ok());
  CHECK(*code == 7);
}

TEST_CASE("a library is there before the program's first instruction") {
  SuspendedProgram program = started(L"");
  const alloctap::Status loaded = program.load_library(kLibrary);
  CAPTURE(to_string(loaded));
  CHECK(loaded.ok());
  const auto code = program.run();
  REQUIRE(code.ok());
  CHECK(*code == 47);
}

TEST_CASE("all 32 bits of an exit code are handed on") {
  SuspendedProgram program = started(L"failing");
  const auto code = program.run();
  REQUIRE(code.ok());
  CHECK(*code == 0xE0000001);
}

TEST_CASE("a library that is missing or none is said, and the program is not left behind") {
  std::uint32_t id = 0;
  {
    SuspendedProgram program = started(L"");
    id = program.id();
    const alloctap::Status missing = program.load_library(kLibrary + L".missing");
    CHECK(message_of(missing) ==
          "the tracker's library cannot be loaded into the program: No such file or directory "
          "(error 2)");
    std::ofstream("no_library.dll") << "text";
    const alloctap::Status none = program.load_library(full_path("no_library.dll"));
    CHECK(message_of(none).starts_with("the tracker's library cannot be loaded into the program"));
    CHECK(message_of(none).find("(error 193)") != std::string::npos);
    ::DeleteFileA("no_library.dll");
    CHECK(lives(id));
  }
  CHECK_FALSE(lives(id));
}

TEST_CASE("what is no program for 64-bit Windows is told apart") {
  CHECK(check_program_image(kProgram, "'it'").ok());
  const alloctap::Status library = check_program_image(kLibrary, "'it'");
  CHECK(message_of(library) == "program 'it' is a library, not a program");
  CHECK(library.code() == alloctap::StatusCode::kPermissionDenied);
  CHECK((check_program_image(kProgram + L"x", "'it'")).code() == alloctap::StatusCode::kNotFound);
  std::ofstream("no_program.exe") << "text";
  const alloctap::Status text = check_program_image(full_path("no_program.exe"), "'it'");
  CHECK(message_of(text) == "program 'it' is no program for Windows (no PE file)");
  std::string image(256, '\0');
  image.replace(0, 2, "MZ");
  image[0x3c] = 0x40;
  image.replace(0x40, 2, "PE");
  image.replace(0x44, 2, "\x4c\x01");
  std::ofstream("no_program.exe", std::ios::binary) << image;
  const alloctap::Status narrow = check_program_image(full_path("no_program.exe"), "'it'");
  CHECK(message_of(narrow) ==
        "program 'it' is a 32-bit program; alloctap-run tracks 64-bit ones alone");
  ::DeleteFileA("no_program.exe");
}
