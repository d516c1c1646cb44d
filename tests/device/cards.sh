#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/cards.sh - the shipped CUDA cards on a machine with a GPU: held-out lineages are walked, every card is tried on them,
# cards become commits in repositories of others, witnesses of their conditions are sought:
#
#	cards.sh <work> [<out>]		<out> (default: <work>/out) has log, table, cards.tgz, repo.bundle
#	cards.sh -n <work> [<out>]	nothing is judged: says what would be tried
#
# cards.tgz: held-out/ as `git klineage export` wrote it, skills/ as `git klineage skills export` did. repo.bundle: all refs of the
# repository in which that was found. git-klineage, klineage-worker and nvcc are taken from PATH or build/.
# CARDS_LIMIT: seconds in all (480). CARDS_PARTS: which parts, in which order (default: "walk admit materialize again slow witness").
# `slow` is what needs the naive GEMM, `again` a second trial, on another state, of each card that passed its first.
# shellcheck disable=SC2015 # `a && b || die` is meant
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
PATH=$PATH:$top/build
GIT_AUTHOR_NAME=git-klineage GIT_AUTHOR_EMAIL=klineage@example.invalid
GIT_COMMITTER_NAME=git-klineage GIT_COMMITTER_EMAIL=klineage@example.invalid
GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC
export PATH GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_CONFIG_NOSYSTEM LC_ALL TZ
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
limit=${CARDS_LIMIT:-480}
parts=${CARDS_PARTS:-walk admit materialize again slow witness}
start=$(date +%s)
late=0

die () {
	echo "cards.sh: $*" >&2
	exit 2
}

# --- parts, each with its own limit -------------------------------------------------------------

# timed <seconds> <part> <what> <command...>: its output into the log; sets rc, took and out, a file
timed () {
	most=$1 part=$2 what=$3
	shift 3
	left=$((start + limit - $(date +%s)))
	test "$most" -le "$left" || most=$left
	out=$work/last.out rc=124 took=0
	: >"$out"
	if test "$most" -ge 5; then
		from=$(date +%s.%N)
		timeout -k 20 "$most" "$@" >"$out" 2>"$work/last.err" </dev/null
		rc=$?
		took=$(echo "$from $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
		tr '\r' '\n' <"$work/last.err" | grep -v '^ *$' | tail -n 5 >>"$out"
	else
		echo "not begun: the time is over" >"$out"
	fi
	{
		echo "== $part $what: $* ($rc, $took s)"
		sed 's/^/    /' "$out"
	} >>"$log"
}

# row <outcome>: | part | what | outcome | exit code | seconds |; what was not begun is counted
row () {
	if grep -q '^not begun' "$out"; then
		late=$((late + 1))
		return
	fi
	printf '| %s | %s | %s | %s | %s |\n' "$part" "$what" "$(echo "$1" | sed 's/|/\\|/g; s/  */ /g' | cut -c 1-240)" \
		"$rc" "$took" >>"$table"
}

# said <pattern>: the first line of what it said that has it, else its last
said () {
	grep -m 1 -e "$1" "$out" || tail -n 1 "$out"
}

# --- what is there at the beginning -------------------------------------------------------------

# state <template> <i>: the commit of K_i in its history
state () {
	git rev-list --reverse "tpl/$1" | sed -n "$(($2 + 1))p"
}

library () {
	git init -q -b main "$work/lib" && cd "$work/lib" || die "no repository in '$work'"
	GIT_INDEX_FILE=$work/index git --work-tree="$top/skills" add cards evidence &&
		git update-ref refs/heads/klineage/skills \
			"$(git commit-tree -m cards "$(GIT_INDEX_FILE=$work/index git write-tree)")" || die "no cards in '$top/skills'"
	for l in "$top"/skills/lineages/cuda-*; do
		git klineage import "$l" >>"$log" 2>&1 || die "no lineage in '$l'"
	done
	for t in cuda-topk cuda-gdn-cumsum cuda-gdn-kkt cuda-gemm; do
		git klineage init --template $t "$work/$t" >/dev/null 2>&1 &&
			git fetch -q "$work/$t" "HEAD:refs/heads/tpl/$t" || die "no template '$t'"
	done
	git checkout -q -B main tpl/cuda-topk && git config klineage.profileMs 6000
}

# --- held-out lineages --------------------------------------------------------------------------

# passes in the order in which they are tried: a promise, then the shape of accesses, then one loop at a time
rules () {
	mkdir -p "$work/rules" && {
		echo 'passes:'
		while read -r name each action mechanism; do
			printf '  - {name: %s, kind: token, each: %s, languages: [cuda], action: %s, mechanism: %s, text: "%s by rule"}\n' \
				"$name" "$each" "$action" "$mechanism" "$name"
		done
	} >"$work/rules/passes.yaml" <<-X
	drop-bounds all bounds-off launch-bounds
	scalar-load all scalar-load vector-load
	roll-loop site unroll-off unroll
	X
}

# hand <name> <template> <i> <file> <sed script> <action> <mechanism> <why>: a mail that changes K_i, in a directory of its own
hand () {
	mkdir -p "$work/hand/$1" "$work/edit" && rm -rf "$work/edit/$1" &&
		git worktree add -q --detach "$work/edit/$1" "$(state "$2" "$3")" && (
		cd "$work/edit/$1" && sed "$5" "$4" >"$work/edited" && cp "$work/edited" "$4" && ! git diff --quiet &&
			git commit -q -a -m "$8" -m "Klineage-Action: $6
Klineage-Mechanism: $7
Klineage-Origin: authored" && git format-patch -q -1 -o "$work/hand/$1"
	) || die "the edit '$1' changes nothing"
	git worktree remove -f "$work/edit/$1"
}

edits () {
	rules
	hand ring-7 cuda-gemm 7 launch.yaml 's/STAGES: 4/STAGES: 3/' unpipeline software-pipeline 'a ring of three slots'
	hand ring-8 cuda-gemm 8 launch.yaml 's/STAGES: 4/STAGES: 3/' unpipeline software-pipeline 'a ring of three slots'
	hand keys cuda-topk 4 topk.cu "$keys" plain-arithmetic strength-reduction 'keys by arithmetic'
	hand round cuda-gemm 0 gemm.cu "$round" plain-c inline-asm 'rounded by plain arithmetic'
}
keys='s/return bits & 0x80000000u ? ~bits : bits | 0x80000000u;/return bits ^ ((unsigned)((int)bits >> 31) | 0x80000000u);/'
round='s/asm("cvt.rn.bf16.f32.*/y = (__float_as_uint(x) + 0x7fff + (__float_as_uint(x) >> 16 \& 1)) >> 16;/'

# walk <template> <i> <name> <steps> <rewriter>
walk () {
	timed 75 "$p" "$1 K_$2" git klineage deopt -q --expert "$(state "$1" "$2")" --name "$3" --no-rederive --steps "$4" \
		--rejections 6 --rewriter "$5" "$1"
	row "$(said 'accepted')"
	git klineage deopt --abort >/dev/null 2>&1
	if git rev-parse -q --verify "refs/heads/klineage/lineage/$1/$3" >/dev/null; then
		git klineage export "$1/$3" "$work/export/held-out/$1-$3" >>"$log" 2>&1
	fi
}

# Each state lacks what the card named by it provides; another mechanism of it was weakened, where the card's diff does not reach.
walks () {
	walk cuda-gdn-kkt 6 by-rule-cp-async 1 "passes:$work/rules"
	walk cuda-gdn-kkt 5 by-rule-stmatrix 1 "passes:$work/rules"
	walk cuda-gdn-kkt 4 by-rule-mma-merge 1 "passes:$work/rules"
	walk cuda-topk 4 by-hand-warp-scan 1 "patches:$work/hand/keys"
	walk cuda-gemm 14 by-rule-tma-store 1 "passes:$work/rules"
	walk cuda-gemm 8 by-hand-tma-load 1 "patches:$work/hand/ring-8"
	walk cuda-gemm 7 by-hand-wgmma 1 "patches:$work/hand/ring-7"
	walk cuda-gemm 6 by-rule-cp-async-ring 1 "passes:$work/rules"
	walk cuda-gemm 4 by-rule-ldmatrix 1 "passes:$work/rules"
	walk cuda-gemm 3 by-rule-mma 1 "passes:$work/rules"
	walk cuda-gdn-cumsum 6 by-rule 4 passes
	walk cuda-topk 11 by-rule 3 passes
}

# --- cards --------------------------------------------------------------------------------------

cuda_cards () {
	grep -l '^  - language: cuda$' "$top"/skills/cards/*.yaml | sed 's|.*/||; s|\.yaml$||'
}

# meant_for <card>: --on and the lineage that was walked for it, if there is one
meant_for () {
	git for-each-ref --format='%(refname)' refs/heads/klineage/lineage | grep "/by-[a-z]*-${1%-*}$" |
		sed 's|refs/heads/klineage/lineage/|--on |; q'
}

# admit <card> <seconds> [--on <lineage>]
admit () {
	card=$1 most=$2
	shift 2
	timed "$most" "$p" "$card" git klineage admit $dry -q "$@" "$card"
	row "$(sed '/cannot be tried on any of/q; 3q' "$out" | paste -s -d ';')"
}

# shellcheck disable=SC2046 # a word and a name of a lineage, or nothing
admits () {
	for card in $(cuda_cards); do
		admit "$card" 45 $(meant_for "$card")
	done
}

again () {
	for card in $(git klineage skills list --status admitted | awk 'NR > 1 { print $1 }'); do
		cuda_cards | grep -q -x "$card" && admit "$card" 45
	done
}

# shellcheck disable=SC2046
slow () {
	test -n "$dry" || walk cuda-gemm 0 by-hand-vector-load 1 "patches:$work/hand/round"
	admit vector-load-df629bf 90 $(meant_for vector-load-df629bf)
}

# --- repositories of others ---------------------------------------------------------------------

# own <name> <template> <i> <sed script for the kernel> <sed script for the contract>: a repository whose own kernel it is
own () {
	git init -q -b main "$work/own/$1" && git archive "$(state "$2" "$3")" | tar x -C "$work/own/$1" && (
		cd "$work/own/$1" && for f in *.cu; do
			test "$f" = oracle.cu || { sed "$4" "$f" >"$work/edited" && cp "$work/edited" "$f"; }
		done
		sed "$5" klineage.yaml >"$work/edited" && cp "$work/edited" klineage.yaml && git add . && git config klineage.profileMs 6000 &&
			git commit -q -m "our own kernel"
	) || die "no repository '$1'"
}

owners () {
	own sums cuda-gdn-cumsum 4 's/for (int d = 1; d < 32; d \*= 2) {/for (int d = 1; d <= 16; d += d) {/; s/^ \* cumsum - .*/ * sums of gates/' \
		's/^workload: .*/workload: gate-sums/; s/B: 1, T: 4096, H: 48/B: 2, T: 2048, H: 64/g'
	own select cuda-topk 6 "$keys" 's/^workload: .*/workload: select/; s/rows: 64, cols: 4096, k: 512/rows: 132, cols: 2048, k: 256/g'
	own solve cuda-gdn-kkt 6 's/^static __device__ int lower(/static __device__ __forceinline__ int lower(/; s/^ \* kkt - /&ours: /' \
		's/^workload: .*/workload: solve/; s/B: 1, T: 4096, Hk: 16, H: 48/B: 1, T: 2048, Hk: 8, H: 24/g'
}

materialize () {
	for name in sums select solve; do
		cd "$work/own/$name" || continue
		timed 80 materialize $name git klineage materialize $dry -q --library "$work/lib" --status hypothesis,admitted
		row "$(grep -i 'fast\|applies\|best' "$out" | head -n 3 | paste -sd ';' | grep . || tail -n 1 "$out")"
		git bundle create -q "$work/export/$name.bundle" --all 2>>"$log"
	done
	cd "$work/lib" || exit 2
}

# --- conditions ---------------------------------------------------------------------------------

# with_test <pattern>: cards with a condition for machines that begins so
with_test () {
	for card in $(cuda_cards); do
		grep -q "^      test: $1" "$top/skills/cards/$card.yaml" && echo "$card"
	done
}

# those of the quickest kernels first
witness () {
	seen=
	if ! git klineage lift -h | grep -q -e --witness; then
		part=witness what=all rc=- took=0 out=/dev/null
		row "this git-klineage does not seek any"
		return
	fi
	for card in $(with_test "op != 'chunk-cumsum'"; with_test "op != 'topk'"; with_test "[^n]"); do
		case $seen in
		*" $card "*) continue ;;
		esac
		seen="$seen $card "
		timed 60 witness "$card" git klineage lift --witness --runs 24 $dry -q "$card"
		row "$(sed -n 's/^  \([^ ;][^;]*\).*/\1/p' "$out" | paste -s -d ';' | grep . || tail -n 1 "$out")"
	done
}

# --- all of it ----------------------------------------------------------------------------------

carry_out () {
	cd "$work/lib" || exit 2
	git klineage skills export --output "$work/export/skills" >>"$log" 2>&1
	git bundle create -q "$result/repo.bundle" --all 2>>"$log"
	tar czf "$result/cards.tgz" -C "$work/export" .
	cp "$log" "$result/log"
	cp "$table" "$result/table"
}

dry=
test "$1" != -n || { dry=-n; shift; }
test -n "$1" || die "usage: cards.sh [-n] <work> [<out>]"
mkdir -p "$1" && work=$(cd "$1" && pwd) && mkdir -p "${2:-$1/out}" && result=$(cd "${2:-$1/out}" && pwd) || die "no directory '$1'"
for d in index lib cuda-topk cuda-gdn-cumsum cuda-gdn-kkt cuda-gemm export rules hand edit own; do
	rm -rf "${work:?}/$d"
done
mkdir -p "$work/export/held-out"
log=$work/log table=$work/table HOME=$work
export HOME
: >"$log"
printf '| part | what | outcome | exit | seconds |\n| --- | --- | --- | --- | --- |\n' >"$table"
{
	date -u +%Y-%m-%d
	nvidia-smi --query-gpu=name,uuid,driver_version --format=csv,noheader,nounits | sed 's/$/,/'
	nvcc --version | grep release
} >>"$log" 2>&1
git config --global safe.directory '*'	# the tree may be a copy that somebody else owns
library
edits
owners
trap 'carry_out; exit 143' TERM INT
for p in $parts; do
	case $p in
	walk) test -n "$dry" || walks ;;
	admit) admits ;;
	materialize) materialize ;;
	again) again ;;
	slow) slow ;;
	witness) witness ;;
	*) die "no part '$p'" ;;
	esac
done
carry_out
cat "$table"
cd "$work/lib" && echo "admitted: $(git klineage skills list --status admitted | awk 'NR > 1 { print $1 }' | paste -s -d ' ')"
echo "$(($(date +%s) - start)) s in all, $late things not begun; results in $result"
