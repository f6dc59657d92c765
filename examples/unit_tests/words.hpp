// What the three examples of unit tests test: a table of words, and some ways to get it wrong.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Keeps each word once, for as long as the program runs.
inline const std::string& intern(std::string_view word) {
  static std::map<std::string, std::string, std::less<>> words;
  const auto known = words.find(word);
  if (known != words.end()) return known->second;
  return words.emplace(word, word).first->second;
}

inline std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// Forgets to give back what it counts in.
inline std::size_t count_words(std::string_view text) {
  auto* const words = new std::vector<std::string>(split(text));
  return words->size();
}

/// Adds up without memory of its own.
inline int mix(const std::vector<int>& left, const std::vector<int>& right, std::vector<int>& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = left[i] + right[i];
  return sum.empty() ? 0 : sum.back();
}
