#!/bin/sh
# usage: baselines_by_environment.sh UNIT_TESTS DIRECTORY
# What ALLOCTAP_BASELINES and ALLOCTAP_UPDATE_BASELINES do to a test of a baseline, run after run.
set -u
program=$1
directory=$2
file="$directory/by environment.baseline"
failed=0

# run EXPECTED_EXIT_CODE TEXT [VARIABLE=VALUE...]
run() {
  expected=$1
  text=$2
  shift 2
  output=$(env "ALLOCTAP_BASELINES=$directory" "$@" "$program" --no-skip \
    --test-case="a baseline is where the environment says" 2>&1)
  code=$?
  case $code:$output in
    "$expected:"*"$text"*) ;;
    *)
      echo "expected exit code $expected and \"$text\", with $*; got $code: $output"
      failed=1
      ;;
  esac
}

rm -rf "$directory"
run 1 "there is no file $file"
run 1 "ALLOCTAP_UPDATE_BASELINES=yes: say 1" ALLOCTAP_UPDATE_BASELINES=yes
[ ! -e "$directory" ] || { echo "a refused run made $directory"; failed=1; }
run 0 "1 passed" ALLOCTAP_UPDATE_BASELINES=1
run 0 "1 passed"
sed 's/3 allocations/2 allocations/' "$file" >"$directory/changed"
mv "$directory/changed" "$file"
run 1 "2 -> 3 allocations (+1)" ALLOCTAP_UPDATE_BASELINES=0
run 0 "1 passed" ALLOCTAP_UPDATE_BASELINES=1
run 0 "1 passed"
exit "$failed"
