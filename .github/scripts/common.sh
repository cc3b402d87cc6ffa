# shellcheck shell=bash
# Sourced by every check. Goes to the root directory, which is the first argument or else the project, and gives each
# check the same way to list files, to look for a construct and to end. Needs bash 3.2, git, awk, grep, sed and xargs.
set -euo pipefail
export LC_ALL=C
project=$(cd "$(dirname "$0")/../.." && pwd)
cd "${1:-$project}"
git rev-parse --is-inside-work-tree > /dev/null
failed=0

# The files under the given paths, each ended by NUL: what git tracks and what it would track.
files() { git ls-files -z --cached --others --exclude-standard -- "$@"; }

# Of the files on standard input, those that match the first pattern, that do not match the second, and that exist.
only() {
  local file
  while IFS= read -r -d '' file; do
    # shellcheck disable=SC2254 # Patterns, so they stand without quotes.
    case $file in ${2:-/}) continue ;; $1) if [ -f "$file" ]; then printf '%s\0' "$file"; fi ;; esac
  done
}

# Prints every line of the files on standard input whose code matches the pattern, unless that line carries a comment
# `// Safety: ...`, or the lines of comment directly above it do. With `anywhere`, comments are searched as well.
unproven() {
  # shellcheck disable=SC2016
  pattern=$1 anywhere=${2:-} xargs -0 awk '
    FNR == 1 { above = 0 }
    {
      text = $0
      if (ENVIRON["anywhere"] == "") { gsub("://", ": ", text); sub("//.*", "", text) }
      proof = ($0 ~ "// Safety: *[^ ]")
      if (text ~ ENVIRON["pattern"] && !proof && !above) print FILENAME ":" FNR ": " $0
      above = ($0 ~ "^[ \t]*//" && (proof || above))
    }
  ' /dev/null
}

# complain TEXT COMMAND...: fails the check when the command prints something, and at once when the command fails.
complain() {
  local text=$1 found
  shift
  found=$("$@")
  if [ -n "$found" ]; then
    printf 'error: %s\n%s\n' "$text" "$found"
    failed=1
  fi
}

finish() { exit "$failed"; }
