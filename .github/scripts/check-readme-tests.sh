#!/usr/bin/env bash
# Each row of the README's table of behaviour names suites of tests that exist, or says why there is none.
. "$(dirname "$0")/common.sh"

rows() {
  awk -F ' *[|] *' '
    /^[|] When [|] Then [|] Test [|]$/ { inside = 1; getline; next }
    !/^[|]/ { inside = 0 }
    inside { print $(NF - 1) "\t" NR }
  ' README.md
}

missing() {
  local test line suite
  rows | while IFS=$'\t' read -r test line; do
    case $test in
      'none: '?*) ;;
      *'`'*)
        for suite in $(grep -oE '[A-Za-z]+' <<< "$test"); do
          files Tests | only '*.swift' | xargs -0 grep -qE "(^|[ )])(final class|struct) $suite( |$)" ||
            echo "README.md:$line: there is no $suite"
        done ;;
      *) echo "README.md:$line names no test" ;;
    esac
  done
}

complain "a row of the table without its test" missing
finish
