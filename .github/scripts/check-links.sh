#!/usr/bin/env bash
# Each relative link of the README, of Migration.md and of the pages in .github leads to a file or folder that is there.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

broken() {
  local page link target
  files README.md Migration.md .github | only '*.md' | while IFS= read -r -d '' page; do
    { grep -noE '\]\([^)#: ]+[)#]' "$page" || true; } | while IFS= read -r link; do
      target=${link#*](}
      [ -e "$(dirname "$page")/${target%[)#]}" ] || echo "$page:${link%%:*}: there is no ${target%[)#]}"
    done
  done
}

complain "a link that leads nowhere" broken
finish
