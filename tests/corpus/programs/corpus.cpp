#include "corpus.hpp"

#include <cstdio>
#include <cstdlib>

namespace corpus {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Kind::kCount)> kKindNames = {
    "none",
    "reachable",
    "double free",
    "free of an unknown pointer",
    "mismatched release",
    "wrong size given to delete",
    "wrong alignment given to delete",
    "write after the block",
    "write before the block",
    "read after the block",
    "read before the block",
    "write after free",
    "read after free",
    "overlapping copy",
    "leak",
};

constexpr std::array<const char*, kMeansCount> kMeansNames = {
    "calls",       "guard_bytes", "freed_fill",    "page_after",
    "page_before", "freed_page",  "string_checks", "reachability"};

void list(std::string_view name, Misuse misuse) {
  std::printf("%.*s\t%s\t", static_cast<int>(name.size()), name.data(),
              kKindNames[static_cast<std::size_t>(misuse.kind)]);
  const char* separator = "";
  for (std::size_t i = 0; i < kMeansCount; ++i) {
    if ((misuse.seen_by >> i & 1U) != 0) {
      std::printf("%s%s", separator, kMeansNames[i]);
      separator = ",";
    }
  }
  std::printf("\n");
}

}  // namespace

Name::Name(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (length_ + part.size() + 1 > text_.size()) {
      std::fputs("misuse_corpus: the name of a case is too long for its room; make Name larger\n",
                 stderr);
      std::exit(2);
    }
    if (length_ > 0) {
      text_[length_++] = '/';
    }
    length_ += part.copy(text_.data() + length_, part.size());
  }
}

bool Cases::is_to_run(const Name& name, Misuse misuse) {
  switch (task_) {
    case Task::kList:
      list(name.text(), misuse);
      return false;
    case Task::kRunOne:
      if (name.text() != wanted_) {
        return false;
      }
      // Not by stdout, which a case may be the first to use: it has a buffer on the heap.
      std::fputs("begins\n", stderr);
      break;
    case Task::kRunGood:
      if (misuse.kind != Kind::kNone && misuse.kind != Kind::kReachable) {
        return false;
      }
      std::printf("%.*s\n", static_cast<int>(name.text().size()), name.text().data());
      std::fflush(stdout);
      break;
  }
  ++run_count_;
  return true;
}

void Cases::end_here() const {
  if (runs_one()) {
    std::puts("done");
    std::exit(0);
  }
}

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "misuse_corpus: this does not hold: %s\n", what);
    std::fflush(stdout);
    std::_Exit(3);
  }
}

}  // namespace corpus
