#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# retrieval.sh <directory> [<option of retrieve>]... - how well retrieval finds what comes next in the shipped lineages. For each
# workload a library is made of the lineages of all others. Each of its states but the last is asked about; right is a card of the
# mechanism that the lineage applied next. A state is decidable if the library has a right card.
# Prints a line per state to <directory>/states: workload, state, next mechanism, cards of the library, right ones, then the
# mechanisms of the offered cards with their scores, best first. retrieval.pl makes figures of them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
shipped=$here/../../skills/lineages
dir=$1
shift
# workloads, and their lineages
groups='conv2d: c-conv2d
gdn: c-gdn cuda-gdn-cumsum cuda-gdn-kkt
gemm: c-sgemm cuda-gemm
topk: c-topk cuda-topk'

# states <repository> <lineage>: each state that has a next one, with the mechanism of the step to it
states () {
	git -C "$1" log --first-parent --format='%H %(trailers:key=Klineage-Mechanism,valueonly,separator=%x2C)' "$2" |
		awk 'NR > 1 && next_mechanism != "" { print $1, next_mechanism } { next_mechanism = $2 }'
}

mkdir -p "$dir" && : >"$dir/states" || exit 1
echo "$groups" | while IFS=: read -r left_out own; do
	repo=$dir/$left_out
	rm -rf "$repo" && git init -q "$repo" || exit 1
	for lineage in $(echo "$groups" | grep -v "^$left_out:" | cut -d: -f2); do
		git -C "$repo" klineage import "$shipped/$lineage" >/dev/null || exit 1
	done
	git -C "$repo" klineage lift >/dev/null 2>"$dir/why" || { cat "$dir/why" >&2; exit 1; }
	git -C "$repo" grep -h '^mechanism:' klineage/skills -- cards | sort | uniq -c | awk '{ print $3, $1 }' >"$dir/library"
	git -C "$repo" grep '^mechanism:' klineage/skills -- cards | sed 's,^[^:]*:cards/\(.*\)\.yaml:mechanism: *,\1 ,' >"$dir/cards"
	git -C "$repo" for-each-ref --format='%(refname)' refs/heads/klineage/lineage | sort >"$dir/before"
	for lineage in $own; do
		git -C "$repo" klineage import "$shipped/$lineage" >/dev/null || exit 1
	done
	git -C "$repo" for-each-ref --format='%(refname)' refs/heads/klineage/lineage | sort | comm -13 "$dir/before" - |
		while read -r ref; do
			states "$repo" "$ref" | while read -r state mechanism; do
				git -C "$repo" klineage retrieve --rev "$state" --status hypothesis --limit 100000 --porcelain "$@" \
					>"$dir/offered" 2>"$dir/why" </dev/null
				# 1: no card fits
				test $? -le 1 || { cat "$dir/why" >&2; exit 1; }
				awk -v mechanism="$mechanism" -v state="$state" -v left_out="$left_out" '
					FILENAME ~ /library$/ { all += $2; if ($1 == mechanism) right = $2; next }
					FILENAME ~ /cards$/ { of[$1] = $2; next }
					{ split($0, field, "\t"); offered = offered "\t" of[$1] " " (field[9] != "" ? field[9] : $4) }
					END { printf "%s\t%s\t%s\t%d\t%d%s\n", left_out, state, mechanism, all, right, offered }' \
					"$dir/library" "$dir/cards" "$dir/offered" >>"$dir/states"
			done || exit 1
		done || exit 1
done
