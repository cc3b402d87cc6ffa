#!/usr/bin/env bash
# The top level holds these names and dotfiles, nothing else.
. "$(dirname "$0")/common.sh"

allowed='^([.].*|Package[.]swift|Sources|Tests|Migration[.]md|README[.]md|LICENSE)$'

strangers() { files . | tr '\0' '\n' | allowed=$allowed awk -F / '$1 !~ ENVIRON["allowed"]'; }

complain "not at the top level" strangers
finish
