#!/usr/bin/env bash
# public-api.sh check: fails when a public declaration or conformance that `.github/api` records is gone or has changed, and
# names the new ones. `public-api.sh update` records those that there are, which is how a break becomes intended.
# It reads the debug build that is there; on Linux, since a declaration may be missing on another system.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/api.XXXXXX")
trap 'rm -rf "$work"' EXIT

# One line for each declaration, such as "Run.isFinished | var isFinished: Bool { get }", and for each conformance.
declarations() {
  awk '
    function text(line) { sub(/^[^:]*: "/, "", line); sub(/",?$/, "", line); gsub(/\\n */, " ", line); return line }
    /^      "pathComponents": \[/ { list = "path"; path = ""; next }
    /^      "declarationFragments": \[/ { list = "declaration"; declaration = ""; next }
    /^      \]/ { list = "" }
    list == "path" && /^        "/ { part = $0; gsub(/^ *"|",?$/, "", part); path = path (path == "" ? "" : ".") part }
    list == "declaration" && /^          "spelling": / { declaration = declaration text($0) }
    /^        "precise": / { name = text($0) }
    /^      "accessLevel": / { paths[name] = path; print path " | " declaration }
    /^  "relationships": / { inside = 1 }
    inside && /^      "kind": / { kind = text($0) }
    inside && /^      "source": / { source = text($0) }
    inside && /^      "target": / { target = text($0) }
    inside && /^      "targetFallback": / { fallback = text($0) }
    inside && /^    \}/ {
      if (fallback == "") fallback = paths[target]
      if (kind == "conformsTo" && source in paths && fallback !~ /^Swift[.](Copyable|Escapable|SendableMetatype)$/)
        print paths[source] " : " fallback
      fallback = ""
    }
  ' "$@" | sort -u
}

# Fails when lines of the first file are not in the second, and prints them and those that are new.
compare() {
  comm -13 "$1" "$2" | sed 's/^/new: /'
  [ -z "$(comm -23 "$1" "$2")" ] || { comm -23 "$1" "$2" | sed 's/^/gone: /'; return 1; }
}

.github/scripts/symbol-graphs.sh "$work/graphs"
for graphs in "$work/graphs"/*; do declarations "$graphs"/*.json > "$work/$(basename "$graphs").txt"; done
case ${1:-} in
  update)
    mkdir -p .github/api
    cp "$work"/*.txt .github/api ;;
  check)
    failed=0
    for record in .github/api/*.txt; do
      if [ -f "$work/$(basename "$record")" ]; then compare "$record" "$work/$(basename "$record")" || failed=1; fi
    done
    if [ $failed = 1 ]; then
      echo "error: public API has changed; if that is intended, run .github/scripts/public-api.sh update"
      exit 1
    fi ;;
  *) echo "usage: public-api.sh check|update"; exit 2 ;;
esac
