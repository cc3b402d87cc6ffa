#!/usr/bin/env bash
# No file names a directory that is there on one machine only.
. "$(dirname "$0")/common.sh"

paths='(^|[^A-Za-z0-9_.-])/(work|root|home|Users)/'

naming() { files . | only '*' | { xargs -0 grep -InE "$1" /dev/null || true; }; }

complain "a path of one machine" naming "$paths"
finish
