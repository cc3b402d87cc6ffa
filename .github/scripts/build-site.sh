#!/usr/bin/env bash
# build-site.sh FOLDER [BASE-PATH]: builds one documentation site of all products with the toolchain's `docc`, from the
# debug build that is there. A warning is an error, and so is an article that the page of its module does not list. The
# modules for old code are last.
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
    [ "$name" = "$2" ] || grep -qE "^- \[[^]]*\]\($name[.]md\)$" "$1/$2.md" || echo "$article"
  done
}

convert() { # convert CATALOGUE MODULE ARCHIVE
  local copy=$work/$2/Documentation.docc
  mkdir "$work/$2" && cp -R "$1" "$copy"
  .github/scripts/articles.pl convert "$copy" "$2" "$work/graphs/$2"
  "$docc" convert "$copy" --additional-symbol-graph-dir "$work/graphs/$2" --output-dir "$3" \
    --fallback-display-name "$2" --fallback-bundle-identifier "$2" --fallback-default-module-kind Library \
    --warnings-as-errors ${hosting[@]+"${hosting[@]}"}
}

git ls-files -z '*.md' | xargs -0 .github/scripts/articles.pl check
.github/scripts/symbol-graphs.sh "$work/graphs"
archives=()
catalogues() { find "$1" -name Documentation.docc | sort; }
for catalogue in $(catalogues Sources/Stepwise) $(catalogues Sources | grep -vE '^Sources/(Stepwise|Legacy)/') $(catalogues Sources/Legacy); do
  module=$(basename "$(dirname "$catalogue")")
  if [ ! -d "$work/graphs/$module" ]; then
    echo "$module is left out: there is no build of it"
    continue
  fi
  left=$(unlisted "$catalogue" "$module")
  [ -z "$left" ] || { printf 'error: articles that the page of %s does not list:\n%s\n' "$module" "$left"; exit 1; }
  convert "$catalogue" "$module" "$work/$module.doccarchive"
  archives+=("$work/$module.doccarchive")
done
rm -rf "$site"
"$docc" merge "${archives[@]}" --synthesized-landing-page-name Stepwise --synthesized-landing-page-topics-style list \
  --output-path "$site"
# `docc` sorts the landing page by name, and only the navigator in the order of the archives.
perl -pi -e 's{(?<="identifiers":\[)[^\]]*}{my @m = split /,/, $&; join ",", grep(!/Legacy/, @m), grep(/Legacy/, @m)}e' \
  "$site/data/documentation.json"
# What all pages are about, in the words of README.md: on the landing page, and at the root of the site, which leads to the
# module to begin with.
about=$(grep -m 1 '^Stepwise ' README.md)
perl -pi -e 's[(?="sections":)]["abstract":[{"type":"text","text":"'"$about"'"}],]' "$site/data/documentation.json"
cat > "$site/index.html" << END
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="description" content="$about">
<meta http-equiv="refresh" content="0; url=documentation/stepwise/">
<title>Stepwise</title>
<p>$about <a href="documentation/stepwise/">Read the documentation.</a></p>
</html>
END
