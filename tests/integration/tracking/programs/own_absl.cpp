// A program with an Abseil of its own, linked statically.
#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include <cstdio>
#include <string>

namespace {

absl::StatusOr<int> find(const absl::flat_hash_map<std::string, int>& map, const std::string& key) {
  const auto found = map.find(key);
  if (found == map.end()) return absl::NotFoundError(absl::StrCat("no ", key));
  return found->second;
}

}  // namespace

int main() {
  absl::flat_hash_map<std::string, int> map;
  for (int i = 0; i < 1000; ++i) map[absl::StrCat("a key that allocates ", i)] = i;
  std::printf("%d\n", find(map, "a key that allocates 500").value());
  std::printf("%s\n", find(map, "nothing").status().ToString().c_str());
}
