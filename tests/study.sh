#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/study.sh - make a committed study of tables again, and compare the chains of its cells:
#
#	study.sh <build directory> <directory below docs/studies> [<directory for a report>]
#
# The directory has plan.yaml and cells.csv, whose last column is the last link of each chain. The exit status is 1 if a
# chain differs. With a third argument, the report is written there.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
PATH=$(cd "$1" && pwd):$PATH
export PATH
study=$(cd "$2" && pwd)
report=${3-}
[ -z "$report" ] || { mkdir -p "$report" && report=$(cd "$report" && pwd); }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME="git-klineage studies" GIT_AUTHOR_EMAIL=studies@git-klineage.invalid \
	GIT_COMMITTER_NAME="git-klineage studies" GIT_COMMITTER_EMAIL=studies@git-klineage.invalid
name=$(sed -n 's/^name: *//p' "$study/plan.yaml")

git init -q "$work/repo"
cd "$work/repo"
git commit -q --allow-empty -m root
sed -n 's/.*table: \([a-z0-9-]*\)}.*/\1/p' "$study/plan.yaml" | sort -u | while read -r table; do
	git klineage import "$top/skills/lineages/$table" >/dev/null
done
git klineage study start "$study/plan.yaml" | sed -n 1,2p
git klineage study run "$name" --jobs "$(getconf _NPROCESSORS_ONLN)" >"$work/run"
git klineage study report "$name" --output "$work/report" >/dev/null
[ -z "$report" ] || cp "$work/report/"* "$report/"
cut -d, -f2,27 "$study/cells.csv" | sort >"$work/want"
cut -d, -f2,27 "$work/report/cells.csv" | sort >"$work/have"
cells=$(($(wc -l <"$work/want") - 1))
if ! cmp -s "$work/want" "$work/have"; then
	echo "$(diff "$work/want" "$work/have" | grep -c '^<') of $cells cells differ"
	exit 1
fi
echo "$cells cells, all chains as committed"
