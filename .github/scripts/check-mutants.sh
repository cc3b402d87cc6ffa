#!/usr/bin/env bash
# Each patch of Tests/Mutants applies to the sources, changes them for the number in its name alone, and names a test that
# there is. `Tests/Mutants/run.sh` shows that this test fails with it.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

problems() {
  local patch number test suite file
  files Tests/Mutants | only '*.patch' | while IFS= read -r -d '' patch; do
    number=${patch##*/}
    number=${number%%-*}
    git apply --unidiff-zero --check "$patch" 2> /dev/null || echo "$patch: does not apply"
    grep -oE 'isMutant\([0-9]+\)' "$patch" | sort -u | grep -qxF "isMutant(${number#0})" ||
      echo "$patch: does not change anything for isMutant(${number#0})"
    [ "$(grep -oE 'isMutant\([0-9]+\)' "$patch" | sort -u | wc -l)" -le 1 ] || echo "$patch: has the number of another one"
    test=$(sed -n '2s/^Killed by: //p' "$patch")
    suite=${test#*.}
    suite=${suite%/*}
    file=$(find "Tests/${test%%.*}" -name "$suite.swift" 2> /dev/null)
    { [ -n "$test" ] && [ -n "$file" ] && grep -q "func ${test##*/}(" "$file"; } || echo "$patch: there is no test \"$test\""
  done
}

complain "mutants that cannot be tried" problems
finish
