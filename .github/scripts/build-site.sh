#!/usr/bin/env bash
# build-site.sh FOLDER [BASE-PATH]: builds one documentation site of all products with the toolchain's `docc`, from the
# debug build that is there. A warning is an error, and so is an article that the page of its module does not list.
# BASE-PATH is the site's path on its host.
set -euo pipefail
cd "$(dirname "$0")/../.."
site=$1
hosting=()
if [ -n "${2:-}" ]; then hosting=(--hosting-base-path "$2"); fi
work=$(mktemp -d "${TMPDIR:-/tmp}/site.XXXXXX")
trap 'rm -rf "$work"' EXIT
docc=$(xcrun --find docc 2> /dev/null || command -v docc)

# Articles of a catalogue that its module's page does not list.
unlisted() { # unlisted CATALOGUE MODULE
  local article name
  for article in "$1"/*.md; do
    name=$(basename "$article" .md)
    [ "$name" = "$2" ] || grep -qE "^- <doc:$name(-article)?>$" "$1/$2.md" || echo "$article"
  done
}

convert() { # convert CATALOGUE MODULE ARCHIVE
  "$docc" convert "$1" --additional-symbol-graph-dir "$work/graphs/$2" --output-dir "$3" \
    --fallback-display-name "$2" --fallback-bundle-identifier "$2" --fallback-default-module-kind Library \
    --warnings-as-errors ${hosting[@]+"${hosting[@]}"}
}

# A link that leads nowhere has to fail the build, and an unlisted article has to be found.
control() {
  mkdir -p "$work/control.docc" "$work/graphs/Control"
  printf '# Control\n\nIt works.\n' > "$work/control.docc/Control.md"
  convert "$work/control.docc" Control "$work/control" > /dev/null
  printf '# Other\n\nSee <doc:Missing>.\n' > "$work/control.docc/Other.md"
  [ -n "$(unlisted "$work/control.docc" Control)" ] || { echo "error: an unlisted article is not found"; exit 1; }
  if convert "$work/control.docc" Control "$work/control" > /dev/null 2>&1; then
    echo "error: docc accepts a link that leads nowhere"
    exit 1
  fi
}

control
.github/scripts/symbol-graphs.sh "$work/graphs"
archives=()
for module in Stepwise StepwiseCheckpoints StepwiseHTTP StepwiseTesting StepwiseHTTPTesting StepwiseFleet \
  LegacyStepwise LegacyGrain LegacyGrainFirst LegacyFlowState; do
  if [ ! -d "$work/graphs/$module" ]; then
    echo "$module is left out: there is no build of it"
    continue
  fi
  catalogue=$(find Sources -path "*/$module/Documentation.docc")
  left=$(unlisted "$catalogue" "$module")
  [ -z "$left" ] || { printf 'error: articles that the page of %s does not list:\n%s\n' "$module" "$left"; exit 1; }
  convert "$catalogue" "$module" "$work/$module.doccarchive"
  archives+=("$work/$module.doccarchive")
done
rm -rf "$site"
"$docc" merge "${archives[@]}" --synthesized-landing-page-name Stepwise --synthesized-landing-page-topics-style list \
  --output-path "$site"
# The root of the site leads to the module to begin with.
echo '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=documentation/stepwise/">' \
  > "$site/index.html"
