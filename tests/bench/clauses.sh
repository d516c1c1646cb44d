#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clauses.sh <directory> <seconds> - what probes say of the steps of the shipped lineages in C, and of the edits that their walks
# rejected: a step that is sound everywhere shows no condition, a rejected edit breaks something. <seconds> are for each rejected
# edit, and for each step of a card.
# Prints a JSON document a line: that of probe --table, then that of each rejected edit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
shipped=$here/../../skills/lineages
dir=$1 seconds=$2
points=200

rm -rf "$dir" && git init -q "$dir" && cd "$dir" && git commit -q --allow-empty -m root || exit 1
for lineage in c-conv2d c-gdn c-sgemm c-topk; do
	git klineage import "$shipped/$lineage" >/dev/null || exit 1
done
git klineage skills import --shipped >/dev/null || exit 1
steps=$(git klineage probe -q --table --seconds 0 --json | perl -MJSON::PP -e 'print decode_json(join q(), <STDIN>)->{all}{steps}') || exit 1
git klineage probe -q --table --seconds $((steps * seconds)) --check "$points" --json | tr -d '\n' || exit 1
echo
git for-each-ref --format='%(objectname)' refs/klineage/rejected | while read -r tip; do
	git log --format='%H %P' "$tip" -- | awk -v at="$tip" '$1 == at { print $2, $1; at = $3 }' | while read -r expert edit; do
		git klineage probe -q "$expert" "$edit" --seconds "$seconds" --check "$points" --json </dev/null | tr -d '\n' || exit 1
		echo
	done || exit 1
done
