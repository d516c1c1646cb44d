#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/lineages.sh [<build directory>] - print docs/lineages.md: import each lineage of skills/lineages into a
# scratch repository and print it with `git klineage log`. No figure in that page is typed.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
PATH=$(cd "${1:-$top/build}" && pwd):$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-lineages-XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work LC_ALL=C TZ=UTC
GIT_AUTHOR_NAME=lineages GIT_AUTHOR_EMAIL=lineages@klineage.invalid
GIT_COMMITTER_NAME=lineages GIT_COMMITTER_EMAIL=lineages@klineage.invalid
export PATH HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL TZ
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

cat <<X
# Lineages

The lineages under \`skills/lineages\`, imported by \`git klineage import\` and printed by \`git klineage log\`.
\`tests/lineages.sh >docs/lineages.md\` makes this page from the committed data. Import a lineage to read its
steps with plain git:

	git klineage import skills/lineages/cuda-topk && git log -p --first-parent <the branch that import prints>

The lines on merging are from \`git klineage transplant -n\`, which merges each step into other states and judges
nothing: which steps can be undone at K* alone, and which can be put in at a state before their own. What such a
kernel is worth, \`git klineage transplant\` measures on a machine that can run it; where that was done, what it found
follows (\`skills/transplants\` has the events).
X

# merging <lineage>: say where its steps merge
merging () {
	git klineage transplant -n --json "$1" | perl -MJSON::PP -e '
		my $j = decode_json(join "", <STDIN>);
		my @step = @{$j->{steps}}; my $n = @step; my (@undone, @put); my ($in, $places) = (0, 0);
		for my $i (1 .. $n) {
			my $cells = $step[$i - 1]{cells}; my $name = "K_$i $step[$i - 1]{mechanism}";
			push @undone, $name if $cells->[$n]{state} eq "open";
			my @at = grep { $cells->[$_]{state} eq "open" } 0 .. $i - 2;
			push @put, "$name at " . join(" ", map { "K_$_" } @at) if @at;
			$in += @at; $places += $i - 1;
		}
		printf "merging: %d of %d steps can be undone at K* alone: %s\n", scalar @undone, $n, join(", ", @undone) || "-";
		printf "merging: steps can be put in at %d of %d earlier states: %s\n", $in, $places, join(", ", @put) || "-";'
}
# transplants <file> <lineage>: print what was found of its steps at other states, if it was judged
transplants () {
	test -e "$1" || return 0
	git klineage transplant --import "$1" "$2" >"$work/said" || exit 1
	printf '\ntransplants, '
	sed -n 's/.*"device":"\([^"]*\)","driver":"\([^"]*\)".*"time":"\([^T]*\)T.*/on \1, driver \2, \3/p' "$1" | sort -u
	git klineage transplant -n "$2" | sed -n '/^step .*gain at its place/,$p' | grep -v -e ' is written on ' -e ' verdicts reached, ' | cat -s
}
git init -q "$work/r" && cd "$work/r" && git commit -q --allow-empty -m start || exit 1
for dir in "$top"/skills/lineages/*/; do
	name=$(basename "$dir")
	git klineage import "$dir" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
	at=$(sed -n 's/^  "workload": *"\([^"]*\)".*/\1/p' "$dir/lineage.json")/$(sed -n 's/^  "name": *"\([^"]*\)".*/\1/p' "$dir/lineage.json")
	printf '\n## %s\n\n' "$name"
	sed -n 's/.*"device":"\([^"]*\)","driver":"\([^"]*\)".*"time":"\([^T]*\)T.*/On \1, driver \2, \3./p; t
		s/.*"device":"\([^"]*\)".*"time":"\([^T]*\)T.*/On \1, \2./p' "$dir/gate.jsonl" | sort -u
	printf '\n'
	{ git klineage log "$at"; echo; merging "$at"; transplants "$top/skills/transplants/$name.jsonl" "$at"; } | sed 's/^/	/; s/[ 	]*$//'
done
