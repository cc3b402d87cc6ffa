#!/usr/bin/env bash
# No Swift file is longer than 300 lines in Sources and 400 in Tests.
. "$(dirname "$0")/common.sh"

longer() { # longer LINES DIRECTORY
  files "$2" | only '*.swift' |
    limit=$1 xargs -0 awk '
      FNR == ENVIRON["limit"] + 1 { print FILENAME ": more than " ENVIRON["limit"] " lines" }
    ' /dev/null
}

complain "a file that is too long" longer 300 Sources
complain "a file that is too long" longer 400 Tests
finish
