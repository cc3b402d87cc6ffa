#!/usr/bin/env bash
# Each number of Guarantees.md stands above a test of every suite that its row names, as `// G1` or `// G1, G2`; and each
# number that stands above a test is in a row that names its suite.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
page=Sources/Stepwise/Documentation.docc/Guarantees.md
if [ ! -f "$page" ]; then finish; fi

# "G1 FinallyTests" for each number and suite of the page.
rows() {
  awk -F'|' '/^\| G[0-9]+ \|/ {
    gsub(/ /, "", $2); count = split($4, suites, "`")
    if (count < 3) print $2, "-"
    for (i = 2; i < count; i += 2) print $2, suites[i]
  }' "$page"
}

# The same for each comment that stands above a test.
marks() {
  files Tests | only '*Tests.swift' | xargs -0 awk '
    function flush() { numbers = "" }
    FNR == 1 { flush() }
    /^ *\/\/ G[0-9]+(, G[0-9]+)*$/ { numbers = numbers " " $0; gsub(/[\/,]/, " ", numbers); place = FILENAME ":" FNR; next }
    numbers != "" && /^ *(@Test|\/\/\/)/ {
      if (/@Test/) {
        suite = FILENAME; sub(/.*\//, "", suite); sub(/[.]swift$/, "", suite)
        count = split(numbers, list, " ")
        for (i = 1; i <= count; i++) print list[i], suite
        flush()
      }
      next
    }
    numbers != "" { print place, "no test follows"; flush() }
  ' /dev/null
}

# What is in the first list and not in the second.
missing() { comm -23 <(printf '%s\n' "$1" | sort -u) <(printf '%s\n' "$2" | sort -u); }

rows=$(rows)
marks=$(marks)
complain "numbers that stand twice in $page" \
  awk -F'|' '/^\| G[0-9]+ \|/ && seen[$2]++ { print $2 }' "$page"
complain "guarantees in $page without a test in the suite that they name" missing "$rows" "$marks"
complain "tests that name a guarantee whose row in $page does not name their suite" missing "$marks" "$rows"
finish
