#!/usr/bin/env bash
# release.sh [TAG]: checks that this commit can be released. The first version under "Changelog" in Migration.md is the version
# of the package, which README and Getting started tell to depend on. With TAG, that has to be its name, and its notes need a
# date. The public API must not break that of the newest tag before it, unless the version says so: 2.0.0 after 1.4.0, or
# 0.2.0 after 0.1.3.
# release.sh make: writes the version and today's date where they belong.
set -euo pipefail
cd "$(dirname "$0")/../.."

notes=$(sed '1,/^## Changelog$/d' Migration.md | grep -m 1 -E '^\*\*[0-9]+\.[0-9]+\.[0-9]+') ||
  { echo "error: Migration.md names no version under the heading Changelog"; exit 1; }
version=$(grep -oE '[0-9]+\.[0-9]+\.[0-9]+' <<< "$notes" | head -n 1)
installed=(README.md Sources/Stepwise/Documentation.docc/GettingStarted.md)
installed+=(Sources/StepwiseFleet/Documentation.docc/StepwiseFleet.md Sources/StepwiseTesting/Documentation.docc/FindARace.md)
if [ "${1:-}" = make ]; then
  perl -pi -e "s/\\Q**$version, not released yet\\E/**$version, $(date +%F)/" Migration.md
  perl -pi -e 's|(/stepwise", from: ")[^"]*|${1}'"$version"'|' "${installed[@]}"
  exec git diff --stat
fi
echo "version $version"
for file in "${installed[@]}"; do
  grep -qF "/stepwise\", from: \"$version\"" "$file" || { echo "error: $file does not install $version"; exit 1; }
done
if [ -n "${1:-}" ]; then
  [ "$1" = "$version" ] || { echo "error: the tag is $1, and the version in Migration.md $version"; exit 1; }
  grep -qE '[0-9]{4}-[0-9]{2}-[0-9]{2}' <<< "$notes" || { echo "error: the notes of $version have no date"; exit 1; }
fi

# The versions that must not break each other: 1 for 1.4.0, and 0.1 for 0.1.3.
series() { sed -E 's/^(0\.[0-9]+|[1-9][0-9]*)\..*/\1/' <<< "$1"; }

earlier=$(git tag --merged HEAD --list '[0-9]*' --sort=-v:refname | grep -vxF "$version" | head -n 1 || :)
if [ -z "$earlier" ]; then
  echo "no earlier version to compare with"
elif [ "$(series "$earlier")" != "$(series "$version")" ]; then
  echo "$version may break what compiles with $earlier"
else
  swift package diagnose-api-breaking-changes "$earlier"
fi
