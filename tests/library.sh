#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/library.sh [<build directory>] - print skills/README.md: the shipped library as `git klineage skills list`
# prints it, with the status that follows from its trials. Plain git puts the cards on the branch of a scratch
# repository, since an import would reset their status.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
PATH=$(cd "${1:-$top/build}" && pwd):$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-library-XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work LC_ALL=C TZ=UTC
GIT_AUTHOR_NAME=library GIT_AUTHOR_EMAIL=library@klineage.invalid
GIT_COMMITTER_NAME=library GIT_COMMITTER_EMAIL=library@klineage.invalid
export PATH HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL TZ
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

cat <<X
# The shipped library

Cards that were lifted from the lineages in this directory, with the status that follows from their
trials. \`tests/library.sh >skills/README.md\` writes this page, including all figures.

| directory | contents |
| --- | --- |
| \`cards\`, \`evidence\` | the library: one file per card, and every gate event that a card cites |
| \`lineages\` | the lineages that the cards were learned from, written by \`git klineage export\`; docs/lineages.md prints them |
| \`held-out\` | lineages that no card was learned from: states to try cards on |
| \`tables\` | states of \`c-topk\` and \`c-sgemm\` with the verdicts of the gate, for searches without a device: git-klineage-table(1) |

## Using it

	git klineage skills import --shipped		# into any repository; or: skills import <this directory>
	git klineage skills list
	git klineage retrieve --status hypothesis,admitted <workload>
	git klineage materialize --status hypothesis,admitted <workload>

An imported card is a hypothesis, regardless of its status here: its trials are kept and marked
\`foreign\`, and do not count until a trial of your own passes. To repeat the trials, import the
lineages:

	for l in lineages/* held-out/*; do git klineage import \$l; done
	git klineage admit <card>

## How it was made

Each lineage is a walk back from the last commit of a template. The walk first tried simplifications
that look sound and are not (\`templates/workloads/<template>/rejected\`; the gate refused them),
then took the steps of the kernel's history:

	git klineage init --template <template> w && cd w
	git klineage deopt --rewriter patches:<templates/workloads/<template>/rejected>,history
	git klineage export <lineages/<template>>

The walks of the held-out lineages start from the same expert and use only mechanical passes.
Therefore they have other states, which no card cites. \`tests/device/cards.sh\` makes such walks for
CUDA, from earlier commits of a template; some of them use edits made by hand (\`by-hand\`).
\`cuda-fmha\` and \`cuda-conv2d\` are walks along a history, from which no card has been lifted yet:

	git klineage deopt --rewriter passes --name by-rule
	git klineage export <held-out/<template>-by-rule>

The cards were made in a repository that had imported all of these lineages:

	git klineage lift <lineages>
	git klineage admit <card>		# if its patch applies to a state that it was not learned from
	git klineage skills export --output <this directory>

	git klineage lift --witness <card>	# run the gate where a precondition of the card is false
	git klineage admit --rewriter exec --exec <command> --model lm <card>

No model worded the cards: their text comes from measurements and from
\`templates/mechanisms.yaml\`. Every step is \`inverse\`, so only trials verify a point. A trial is
either \`mechanical\` or by an \`agent\`. A mechanical trial applies the card's patch and shows that
it works on a similar variant. An agent is a language model that saw only the card, the contract and
the state (docs/recorded.md). The result of the same model with the intent alone is printed beside
it. Only a model can try cards that provide a trait.

The tables have 100 states each and were built on a machine that did other work, so some intervals are
wide; the verdicts do not depend on that. They are built again in a new repository by

    git klineage import skills/lineages/c-topk
    git klineage table build --constants 4 --values 2 --limit 100 -o skills/tables/c-topk.jsonl topk

## The cards

X
git init -q "$work/r" && cd "$work/r" || exit 1
GIT_INDEX_FILE=$work/index git --work-tree="$top/skills" add cards evidence &&
	git update-ref refs/heads/klineage/skills \
		"$(git commit-tree -m cards "$(GIT_INDEX_FILE=$work/index git write-tree)")" || exit 1
git klineage skills list | sed 's/^/	/; s/[ 	]*$//'
printf '\nTrials on states that the cards were not learned from:\n\n'
for card in "$top"/skills/cards/*.yaml; do
	awk '
		function say() {
			if (!has) return
			at = level == "" ? "" : level ", on " lineage ", state " substr(state, 1, 10) ": "
			said = result (class == "" ? "" : ", " class) (ratio ? ", " ratio " times the speed" : "") ", " how
			if (control != "") said = said "; the intent alone: " control (alone ? ", " alone " times" : "")
			printf "\t%s: %s%s\n", id, at, said
		}
		/^id: / { id = $2 }
		/^ver:$/ { ver = 1; next }
		!ver { next }
		/^  - trial: / { say(); has = 1; level = lineage = state = result = ratio = class = how = control = alone = "" }
		/^    level: / { level = $2 }
		/^    lineage: / { lineage = $2 }
		/^    state: / { state = $2; gsub(/"/, "", state) }
		/^    result: / { result = $2 }
		/^    ratio: / { ratio = $2 }
		/^    class: / { class = $2 }
		/^    how: / { how = $2 }
		/^    control:/ { inside = 1; next }
		/^    [a-z]/ { inside = 0 }
		inside && /^      result: / { control = $2 }
		inside && /^      class: / { control = control ", " $2 }
		inside && /^      ratio: / { alone = $2 }
		END { say() }' "$card"
done
