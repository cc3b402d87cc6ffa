#!/usr/bin/env bash
# symbol-graphs.sh FOLDER: writes the symbol graphs of all public modules, one folder each, from the debug build that is
# there. Of the fleet's modules, which a build without the trait `Postgres` has empty, it takes the build in `.build-fleet`.
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$1

target=$(swift -print-target-info | sed -nE 's/^ *"triple" *: *"([^"]*)".*/\1/p' | head -n 1)
system=()
if command -v xcrun > /dev/null; then system=(-sdk "$(xcrun --show-sdk-path)"); fi

# extract MODULE BUILD: the symbol graph of a module in this scratch directory.
extract() {
  mkdir -p "$output/$1"
  swift symbolgraph-extract -module-name "$1" -target "$target" ${system[@]+"${system[@]}"} \
    -I "$2/debug/Modules" -I "$2/debug/CurlShim.build" -I Sources/CLibpq -I /usr/include/postgresql \
    -minimum-access-level public -skip-inherited-docs -skip-synthesized-members -emit-extension-block-symbols \
    -pretty-print -output-dir "$output/$1"
}

find Sources -name Documentation.docc | while IFS=/ read -r -a path; do
  module=${path[${#path[@]} - 2]}
  if [[ "$module" != StepwiseFleet* ]]; then
    extract "$module" .build
  elif [ -e ".build-fleet/debug/Modules/$module.swiftmodule" ]; then
    extract "$module" .build-fleet
  fi
done
