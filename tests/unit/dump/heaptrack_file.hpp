/// A reader of heaptrack's text format, written from its description: for tests.
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace alloctap::testing {

struct HeaptrackFile {
  struct Cost {
    std::uint64_t allocations = 0;
    std::uint64_t temporary = 0;
    std::int64_t leaked = 0;
    std::int64_t peak = 0;
    bool operator==(const Cost&) const = default;
  };

  explicit HeaptrackFile(const std::string& text) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) read(line);
  }

  /// By the names of the functions, root first, with ';' between them; inlined ones in "[]".
  std::map<std::string, Cost> stacks;
  Cost total;
  std::string command;
  std::vector<std::uint64_t> times;
  std::vector<std::uint64_t> resident_pages;
  std::vector<std::string> unreadable;

 private:
  struct Call {
    std::string functions;
  };
  struct Kind {
    std::int64_t size = 0;
    std::string stack;
  };

  void read(const std::string& line) {
    std::istringstream fields(line.substr(1));
    fields >> std::hex;
    std::vector<std::uint64_t> numbers;
    if (line[0] == 's') return read_text(fields);
    if (line[0] == 'X') return void(command = line.substr(2));
    for (std::uint64_t number = 0; fields >> number;) numbers.push_back(number);
    switch (line[0]) {
      case 'v':
      case 'I':
      case '#':
        return;
      case 'c':
        return times.push_back(numbers.at(0));
      case 'R':
        return resident_pages.push_back(numbers.at(0));
      case 'i':
        return read_call(numbers);
      case 't':
        return traces_.push_back(below(numbers.at(1), numbers.at(0)));
      case 'a':
        return kinds_.push_back(
            {static_cast<std::int64_t>(numbers.at(0)), traces_.at(numbers.at(1) - 1)});
      case '+':
        return allocate(numbers.at(0));
      case '-':
        return free(numbers.at(0));
      default:
        unreadable.push_back(line);
    }
  }

  void read_text(std::istringstream& fields) {
    std::size_t length = 0;
    fields >> length;
    std::string text(length, '\0');
    fields.get();
    fields.read(text.data(), static_cast<std::streamsize>(length));
    texts_.push_back(text);
  }

  std::string text(std::uint64_t number) { return number == 0 ? "" : texts_.at(number - 1); }

  void read_call(const std::vector<std::uint64_t>& numbers) {
    std::string functions;
    for (std::size_t i = 2; i < numbers.size(); i += 3) {
      const std::string file = text(numbers.at(i + 1));
      std::string function = text(numbers.at(i));
      if (!file.empty()) function += " " + file + ":" + std::to_string(numbers.at(i + 2));
      const bool inlined = i + 3 < numbers.size();
      functions =
          (inlined ? "[" + function + "]" : function) + (functions.empty() ? "" : ";" + functions);
    }
    calls_.push_back(functions);
  }

  std::string below(std::uint64_t parent, std::uint64_t call) {
    const std::string& functions = calls_.at(call - 1);
    return parent == 0 ? functions : traces_.at(parent - 1) + ";" + functions;
  }

  void allocate(std::uint64_t kind) {
    for (Cost* cost : {&stacks[kinds_.at(kind).stack], &total}) {
      ++cost->allocations;
      cost->leaked += kinds_[kind].size;
      cost->peak = std::max(cost->peak, cost->leaked);
    }
    last_ = kind;
  }

  /// As heaptrack does it: after a '-', the last kind is 0.
  void free(std::uint64_t kind) {
    for (Cost* cost : {&stacks[kinds_.at(kind).stack], &total}) {
      if (last_ == kind) ++cost->temporary;
      cost->leaked -= kinds_[kind].size;
    }
    last_ = 0;
  }

  std::vector<std::string> texts_;
  std::vector<std::string> calls_;
  std::vector<std::string> traces_;
  std::vector<Kind> kinds_;
  std::uint64_t last_ = 0;
};

}  // namespace alloctap::testing
