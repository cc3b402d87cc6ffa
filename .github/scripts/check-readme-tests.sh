#!/usr/bin/env bash
# Each row of the tables of behaviour in the README and in Guarantees.md names suites of tests that exist, or says why there
# is none; and Guarantees.md, if it is there, has each row of the README.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
page=Sources/Stepwise/Documentation.docc/Guarantees.md

rows() { # rows FILE: the place, the last column and the whole of each row
  awk -F ' *[|] *' '
    /^[|] When [|] Then [|] Test [|]$/ { inside = 1; getline; next }
    !/^[|]/ { inside = 0 }
    inside { print FILENAME ":" FNR "\t" $(NF - 1) "\t" $0 }
  ' "$1"
}

missing() {
  local place test row suite
  { rows README.md; if [ -f "$page" ]; then rows "$page"; fi; } | while IFS=$'\t' read -r place test row; do
    case $test in
      'none: '?*) ;;
      *'`'*)
        for suite in $(grep -oE '[A-Za-z]+' <<< "$test"); do
          files Tests | only '*.swift' | xargs -0 grep -qE "(^|[ )])(final class|struct) $suite( |$)" ||
            echo "$place: there is no $suite"
        done ;;
      *) echo "$place names no test" ;;
    esac
  done
}

lacking() {
  local place test row
  if [ ! -f "$page" ]; then return; fi
  rows README.md | while IFS=$'\t' read -r place test row; do
    grep -qxF "$row" "$page" || echo "$place: $page has no such row"
  done
}

complain "a row of a table without its test" missing
complain "a row of the README that $page lacks" lacking
finish
