#!/usr/bin/env bash
# Every Swift file starts with the two lines of the licence; in a manifest the tools version comes first.
. "$(dirname "$0")/common.sh"

lacking() {
  local file
  files . | only '*.swift' | while IFS= read -r -d '' file; do
    awk '
      NR == 1 && /^\/\/ swift-tools-version: / { next }
      ++line == 1 && $0 == "// SPDX-License-Identifier: MIT" { lines++ }
      line == 2 && $0 == "// Copyright (c) 2026 Stepwise contributors" { lines++ }
      END { if (lines != 2) print FILENAME }
    ' "$file"
  done
}

complain "no licence header" lacking
finish
