#!/usr/bin/env bash
# `swift format lint --strict` by the project's rules, over all Swift files but what a build left behind. It leaves comments
# as they are: those of Sources have at most 120 columns, too. Only a string literal may be longer.
. "$(dirname "$0")/common.sh"

wide() {
  # In bytes, so what continues a character does not count.
  files Sources | only '*.swift' | xargs -0 awk '
    /^ *\/\// { text = $0; gsub(/[\200-\277]/, "", text); if (length(text) > 120) print FILENAME ":" FNR ": " $0 }
  ' /dev/null
}

files Package.swift Sources Tests | only '*.swift' |
  xargs -0 swift format lint --strict --parallel --configuration "$project/.swift-format" || failed=1
complain "a comment of more than 120 columns" wide
finish
