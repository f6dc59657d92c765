#!/bin/sh
# usage: sh cmake/demo.sh
# Installs what is missing, builds alloctap-run, tracks a real program with it, shows the report.
set -eu

packages='cmake dpkg-dev g++ libabsl-dev libboost-dev libcli11-dev libdw-dev libprotozero-dev
  ninja-build rapidjson-dev sqlite3 zlib1g-dev'

CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck disable=SC2086 # a list
sh cmake/install_packages.sh $packages
sh cmake/abseil_pic.sh
sh cmake/zydis_pic.sh
cmake --preset release -DALLOCTAP_BUILD_EXAMPLES=ON -DALLOCTAP_BUILD_TESTS=OFF \
  -DALLOCTAP_BUILD_BENCHMARKS=OFF
cmake --build --preset release --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target \
  alloctap-run alloctap-preload alloctap-convert alloctap-diff alloctap-manual-pages

reports=$PWD/build/demo
mkdir -p "$reports"
rm -f "$reports/sqlite3.txt" "$reports/sqlite3.json"
echo
echo "demo.sh: sqlite3 fills, indexes and counts a table of 20,000 rows, under alloctap-run:"
build/release/bin/alloctap-run \
  --dump "text=$reports/sqlite3.txt" --dump "json=$reports/sqlite3.json" -- \
  sqlite3 :memory: "
    CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO person SELECT i, 'person number ' || i, i % 90 FROM n;
    CREATE INDEX person_by_age ON person(age, name);
    SELECT count(*) FROM person WHERE age BETWEEN 30 AND 39;"

echo
echo "demo.sh: who held sqlite3's memory; the first lines of the report:"
echo
head -n 25 "$reports/sqlite3.txt"
echo
echo "demo.sh: the whole report is in $reports/sqlite3.txt"
echo "demo.sh: the same for programs  $reports/sqlite3.json"
echo "demo.sh: now yours:  PATH=$PWD/build/release/bin:\$PATH alloctap-run -o heap.html PROGRAM"
