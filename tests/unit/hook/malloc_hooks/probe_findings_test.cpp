#include "alloctap/hook/malloc_hooks/probe_findings.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace {

using alloctap::BlindSpotText;
using alloctap::ProbeFindings;
using Reallocation = alloctap::ProbeFindings::Reallocation;

constexpr ProbeFindings kEverything{.malloc = true,
                                    .calloc = true,
                                    .aligned_alloc = true,
                                    .posix_memalign = true,
                                    .operator_new = true,
                                    .operator_new_array = true,
                                    .aligned_new = true,
                                    .strdup = true,
                                    .free = true,
                                    .exact_sizes = true,
                                    .modules = true,
                                    .reallocation = Reallocation::kWhole};

bool says(const ProbeFindings& findings, std::string_view clause) {
  BlindSpotText text;
  text.write(findings);
  return text.text().find(clause) != std::string_view::npos;
}

}  // namespace

TEST_CASE("an allocator that tells everything owns every free and misses no allocation") {
  const alloctap::HookCapabilities capabilities = kEverything.capabilities("x");
  CHECK(capabilities.owns_every_free);
  CHECK_FALSE(capabilities.misses_allocations);
  CHECK_FALSE(capabilities.sees_mappings);
  CHECK(capabilities.blind_spots == "x");
  CHECK_FALSE(says(kEverything, "realloc"));
  CHECK_FALSE(says(kEverything, "alignments"));
  CHECK(says(kEverything, "mmap"));
  CHECK_FALSE(says(kEverything, "dlclose"));
  ProbeFindings findings = kEverything;
  findings.modules = false;
  CHECK(says(findings, "dlclose"));
}

TEST_CASE("what is not told is named, and takes promises away") {
  ProbeFindings findings = kEverything;
  findings.reallocation = Reallocation::kUnseen;
  CHECK(says(findings, "realloc (a block that it moved or resized stays recorded as it was)"));
  CHECK(says(findings, "frees of unknown blocks"));
  CHECK_FALSE(findings.capabilities({}).owns_every_free);
  CHECK(findings.capabilities({}).misses_allocations);
  for (bool ProbeFindings::* const call :
       {&ProbeFindings::calloc, &ProbeFindings::aligned_alloc, &ProbeFindings::posix_memalign,
        &ProbeFindings::operator_new, &ProbeFindings::operator_new_array,
        &ProbeFindings::aligned_new, &ProbeFindings::strdup}) {
    findings = kEverything;
    findings.*call = false;
    CHECK(findings.capabilities({}).misses_allocations);
    CHECK(says(findings, "frees of unknown blocks"));
  }
  findings = kEverything;
  findings.posix_memalign = false;
  CHECK(says(findings, "posix_memalign"));
  CHECK_FALSE(says(findings, "aligned_alloc"));
  findings = kEverything;
  findings.free = false;
  CHECK_FALSE(findings.capabilities({}).owns_every_free);
}

TEST_CASE("a reallocation told as a pair loses alignments, and one told too early a failure") {
  ProbeFindings findings = kEverything;
  findings.reallocation = Reallocation::kAsPair;
  CHECK(says(findings, "alignments"));
  CHECK_FALSE(says(findings, "a realloc failed"));
  CHECK(findings.capabilities({}).owns_every_free);
  findings.reallocation = Reallocation::kFreedFirst;
  CHECK(says(findings, "that a realloc failed"));
}

TEST_CASE("the longest text fits") {
  BlindSpotText text;
  text.write({.exact_sizes = false}, "children that were forked while there were threads");
  CHECK(text.text().ends_with("allocators that do not end in malloc"));
  CHECK(text.text().find("children that were forked") != std::string_view::npos);
  text.write({.exact_sizes = false, .reallocation = Reallocation::kFreedFirst});
  CHECK(text.text().ends_with("allocators that do not end in malloc"));
}
