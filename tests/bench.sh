#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/bench.sh <build directory> [workloads|seconds|aa|events|segments|log|hooks|skills|review|retrieval|rules|clauses]... - measures, beside the aims; all parts by default.
# KLINEAGE_BENCH_RUNS (5) repeats each figure, KLINEAGE_BENCH_AA (100) is the number of A/A runs. Every figure is the
# median of its runs, with the least and the most. Ends with 1 if a figure could not be taken; a missed aim is no error.
# KLINEAGE_BENCH_PROBE (30) is the time in s for each step and each rejected edit that is probed.
# The fewer others work on the machine the sooner it ends: the gate profiles until it is precise enough, or 15 s.
set -u
build=$(cd "$1" && pwd) || exit 129
shift
all='workloads seconds aa events segments log hooks skills review retrieval rules clauses'
parts=${*:-$all}
here=$(cd "$(dirname "$0")" && pwd)
runs=${KLINEAGE_BENCH_RUNS:-5}
aa_runs=${KLINEAGE_BENCH_AA:-100}
PATH=$build:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# an empty home: nobody's config takes part
HOME=$work/home
mkdir "$HOME"
GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work LC_ALL=C TZ=UTC
GIT_AUTHOR_NAME=bench GIT_AUTHOR_EMAIL=bench@klineage.invalid
GIT_COMMITTER_NAME=bench GIT_COMMITTER_EMAIL=bench@klineage.invalid
export PATH HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL TZ
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

talk () { echo "bench: $*" >&2; }
now () { date +%s%N; }

# --- figures ---------------------------------------------------------------

# figure <name> <unit> <op> <aim> <file of samples>: a row of the table. `op` is le, ge or -; the unit is
# x, s, % or n (a count).
figure () {
	awk -v name="$1" -v unit="$2" -v op="$3" -v aim="$4" '
	function show(x) {
		if (unit == "n") return sprintf("%d", x)
		return sprintf(x < 0.1 ? "%.4f%s" : x < 10 ? "%.3f%s" : "%.1f%s", x, unit)
	}
	{
		for (i = ++n; i > 1 && v[i - 1] > $1 + 0; i--)
			v[i] = v[i - 1]
		v[i] = $1 + 0
	}
	END {
		said = op == "-" ? "" : (op == "le" ? "<= " : ">= ") aim (unit == "n" ? "" : unit)
		if (!n) {
			printf "%s\tnone\t\t%s\tNOT TAKEN\n", name, said
			exit
		}
		mid = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		ok = op == "-" ? "" : (op == "le" ? mid <= aim : mid >= aim) ? "pass" : "MISS"
		printf "%s\t%s\t%s\t%s\t%s\n", name, show(mid), (n > 1 ? show(v[1]) " .. " show(v[n]) : ""), said, ok
	}' "$5" >>"$work/table"
	tail -n 1 "$work/table" | tr '\t' ' ' | sed 's/^/bench: /' >&2
}

heading () { printf '%s\n' "$1" >>"$work/table"; }

# what a reader must know of the machine to believe the times
machine () {
	sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
	echo "$(nproc) processors; load $(cut -d ' ' -f 1 /proc/loadavg) now, $load_before when it began"
	echo "$(gcc --version | head -n 1); $(git --version)"
}

table () {
	machine
	echo
	awk -F '\t' '
	BEGIN { printf "%-52s %10s  %-22s %-10s\n", "figure", "median", "least .. most", "aim" }
	NF == 1 { printf "\n%s\n", $1; next }
	{ printf "  %-50s %10s  %-22s %-10s %s\n", $1, $2, $3, $4, $5; n[$5]++ }
	END { printf "\n%d met, %d missed, %d not taken\n", n["pass"], n["MISS"], n["NOT TAKEN"] }' "$work/table"
	! grep -q 'NOT TAKEN$' "$work/table"
}

# --- gate runs ---------------------------------------------------------------

# template <name>: its repository, made once
template () {
	test -d "$work/$1" || git klineage init --template "$1" "$work/$1" >/dev/null
}

# gated <repository> <revision> <key>: one run of the gate. Appends to <key>.seconds, <key>.aa (%) and, for each
# comparison, <key>.<what> (ratio) and <key>.words. A run that is no pass leaves no figure.
gated () {
	from=$(now)
	if ! (cd "$1" && git klineage gate --fresh --no-note --quiet --json "$2") >"$work/event" 2>"$work/why"; then
		talk "$3: $(head -n 1 "$work/why")"
		return 1
	fi
	to=$(now)
	echo "$from $to" | awk '{ printf "%.3f\n", ($2 - $1) / 1e9 }' >>"$work/$3.seconds"
	"$build/bench/flat" <"$work/event" >"$work/flat" || return 1
	awk -v at="$work/$3" '
	$1 == "profile.aa_ppm" { print $2 / 1e4 >>(at ".aa") }
	$1 ~ /^profile\.vs\./ {
		split($1, p, ".")
		got[p[3], p[4]] = $2
		if (p[3] + 0 >= n) n = p[3] + 1
	}
	END {
		for (i = 0; i < n; i++) {
			print got[i, "ratio_ppm"] / 1e6 >>(at "." got[i, "what"])
			print got[i, "what"], got[i, "verdict"] >>(at ".words")
		}
	}' "$work/flat"
}

# samples <key.suffix>: the file, empty if nothing came
samples () {
	test -f "$work/$1" || : >"$work/$1"
	echo "$work/$1"
}

# expert <template>: judged against its parent and its baseline, as often as a figure needs; once per bench
expert () {
	test -f "$work/$1.expert.done" && return
	template "$1" || return
	i=0
	while [ $((i += 1)) -le "$runs" ]; do
		talk "$1: its expert, run $i of $runs"
		gated "$work/$1" HEAD "$1.expert" || break
	done
	: >"$work/$1.expert.done"
}

# over_naive <template>: the expert judged with K_0 as its parent
over_naive () {
	template "$1" || return
	root=$(git -C "$work/$1" rev-list --max-parents=0 HEAD)
	best=$(git -C "$work/$1" commit-tree -p "$root" -m 'the expert, right after K_0' 'HEAD^{tree}')
	i=0
	while [ $((i += 1)) -le "$runs" ]; do
		talk "$1: its expert against K_0, run $i of $runs"
		gated "$work/$1" "$best" "$1.leap" || break
	done
}

# walked <template>: seconds a candidate in a walk, where oracle, pool and the parent's object are there already
walked () {
	i=0
	while [ $((i += 1)) -le "$runs" ] && [ "$i" -le 3 ]; do
		talk "$1: a walk, run $i"
		rm -rf "$work/walk"
		git klineage init --template "$1" "$work/walk" >/dev/null
		from=$(now)
		(cd "$work/walk" && git klineage deopt --quiet) >"$work/why" 2>&1 || { talk "$1: $(tail -n 1 "$work/why")"; break; }
		to=$(now)
		# the expert, each accepted step, each rejected one
		n=$(git -C "$work/walk" rev-list --count --glob='refs/heads/klineage/walk/*' --glob='refs/klineage/rejected/*' --not HEAD)
		echo "$from $to $n" | awk '{ printf "%.3f\n", ($2 - $1) / 1e9 / ($3 + 1) }' >>"$work/$1.walk.seconds"
	done
}

# --- the parts -----------------------------------------------------------------

part_workloads () {
	heading 'workloads: the time of the other over that of the expert'
	expert c-sgemm
	figure 'sgemm: OpenBLAS / expert' x ge 0.7 "$(samples c-sgemm.expert.openblas.sgemm)"
	expert c-conv2d
	figure 'conv2d: oneDNN / expert' x ge 0.65 "$(samples c-conv2d.expert.onednn.conv2d)"
	over_naive c-topk
	figure 'top-k: selection / expert' x ge 100 "$(samples c-topk.leap.parent)"
	over_naive c-gdn
	figure 'gdn: strided recurrence / expert' x ge 12 "$(samples c-gdn.leap.parent)"
}

part_seconds () {
	heading 'seconds per gated candidate'
	for t in c-topk c-sgemm c-conv2d c-gdn; do
		expert $t
		case $t in
		c-topk) aim=2 ;;
		c-sgemm) aim=6 ;;
		*) aim=25 ;;
		esac
		figure "$t: the expert, against its parent" s le $aim "$(samples $t.expert.seconds)"
	done
	walked c-topk
	figure 'c-topk: a candidate of its walk' s le 2 "$(samples c-topk.walk.seconds)"
	for t in c-topk c-sgemm c-conv2d c-gdn; do
		template $t || continue
		root=$(git -C "$work/$t" rev-list --max-parents=0 HEAD)
		i=0
		while [ $((i += 1)) -le "$runs" ]; do
			talk "$t: its naive state, run $i of $runs"
			gated "$work/$t" "$root" $t.naive || break
		done
		figure "$t: the naive state" s le 25 "$(samples $t.naive.seconds)"
	done
}

# the same machine code twice: the sources differ in a comment
part_aa () {
	heading "A/A: a kernel against itself, $aa_runs times"
	git init -q "$work/aa"
	cp "$here"/bench/aa/* "$work/aa"
	(cd "$work/aa" && git add . && git commit -q -m A &&
		echo '/* the same again */' >>axpy.c && git commit -q -a -m A)
	i=0
	while [ $((i += 1)) -le "$aa_runs" ]; do
		[ $((i % 10)) = 1 ] && talk "A/A run $i of $aa_runs"
		gated "$work/aa" HEAD aa || break
	done
	figure 'half-width: how far the interval reaches from 1' % le 1 "$(samples aa.aa)"
	awk '$1 == "parent" { n++; bad += $2 == "fast" || $2 == "slow" } END { if (n) print bad + 0 }' \
		"$(samples aa.words)" >"$work/aa.false"
	figure "'fast' or 'slow', of $(grep -c '^parent' "$work/aa.words") compared" n le 1 "$work/aa.false"
	awk '$1 == "parent" { n++; same += $2 == "same" } END { if (n) print same + 0 }' "$work/aa.words" >"$work/aa.same"
	figure "'same', of them (the rest is 'ambiguous')" n - 0 "$work/aa.same"
	figure 'seconds a run' s - 0 "$(samples aa.seconds)"
}

# commits <n>: a fast-import stream of n empty commits
commits () {
	awk -v n="$1" 'BEGIN {
		for (i = 1; i <= n; i++)
			printf "commit refs/heads/main\ncommitter bench <bench@klineage.invalid> %d +0000\ndata 2\nc\n\n", i
	}'
}

part_events () {
	heading 'events: 8,000, one on each of 8,000 commits'
	i=0
	while [ $((i += 1)) -le "$runs" ]; do
		talk "events: run $i of $runs"
		rm -rf "$work/events"
		git init -q "$work/events"
		commits 8000 | git -C "$work/events" fast-import --quiet --force
		git -C "$work/events" rev-list refs/heads/main |
			"$build/bench/events" write "$work/events" >"$work/wrote" || break
		"$build/bench/events" fold "$work/events" >"$work/folded" || break
		there=$(git -C "$work/events" notes --ref klineage/gate list | wc -l)
		if [ "$(cut -d ' ' -f 1 "$work/folded")" != 8000 ] || [ "$there" != 8000 ]; then
			talk "events: lost some: $(cat "$work/folded"), git sees $there"
			break
		fi
		awk '{ print $2 / 1e9 }' "$work/wrote" >>"$work/events.write"
		awk '{ print $2 / 1e9 }' "$work/folded" >>"$work/events.fold"
	done
	figure 'written to the notes' s le 2 "$(samples events.write)"
	figure 'read and folded' s le 0.3 "$(samples events.fold)"
}

part_segments () {
	heading 'segments: 100,000 results of a runner, imported in files of 4,096'
	i=0
	while [ $((i += 1)) -le 3 ] && [ "$i" -le "$runs" ]; do
		talk "segments: run $i"
		rm -rf "$work/segments"
		git init -q "$work/segments"
		"$build/bench/segments" prepare "$work/segments" 100000 || break
		"$build/bench/segments" import "$work/segments" 100000 >"$work/imported" || break
		"$build/bench/segments" lookup "$work/segments" 100000 >"$work/found" || break
		if [ "$(cut -d ' ' -f 1 "$work/imported")" != 100000 ] || [ "$(cut -d ' ' -f 1,3 "$work/found")" != '300 0' ]; then
			talk "segments: lost some: $(cat "$work/imported"), $(cat "$work/found")"
			break
		fi
		awk '{ print $2 / 1e9 }' "$work/imported" >>"$work/segments.import"
		awk '{ print $2 / 1e6 }' "$work/found" >>"$work/segments.hit"
		awk '{ print $4 / 1e6 }' "$work/found" >>"$work/segments.miss"
		du -sk "$work/segments/.git/objects" "$work/segments/.git/klineage/made" |
			awk '{ kib += $1 } END { print kib / 1024 }' >>"$work/segments.size"
	done
	figure 'imported' s le 60 "$(samples segments.import)"
	figure 'a lookup that finds a verdict, ms' '' le 5 "$(samples segments.hit)"
	figure 'a lookup that finds none, ms' '' le 5 "$(samples segments.miss)"
	figure 'objects, and ids of own events, MiB' n le 150 "$(samples segments.size)"
}

part_log () {
	heading 'log of a lineage of 10,000 steps'
	git init -q "$work/log"
	talk 'log: making the lineage'
	if "$build/bench/lineage" "$work/log" 10000 "$here/bench/aa"; then
		i=0
		while [ $((i += 1)) -le "$runs" ]; do
			talk "log: run $i of $runs"
			from=$(now)
			(cd "$work/log" && git klineage log) >"$work/logged" || break
			to=$(now)
			echo "$from $to" | awk '{ printf "%.3f\n", ($2 - $1) / 1e9 }' >>"$work/log.seconds"
		done
	fi
	figure 'git klineage log' s le 0.5 "$(samples log.seconds)"
}

# hooked <key>: the installed hook, as git calls it, twenty times a run
hooked () {
	i=0
	while [ $((i += 1)) -le $((runs * 20)) ]; do
		from=$(now)
		(cd "$work/hooks" && .git/hooks/pre-commit) >"$work/said" 2>&1 || break
		to=$(now)
		echo "$from $to" | awk '{ printf "%.4f\n", ($2 - $1) / 1e9 }' >>"$work/$1"
	done
}

part_hooks () {
	heading 'pre-commit: a repository of 2,000 files, one of them a kernel'
	template c-sgemm || return
	git clone -q "$work/c-sgemm" "$work/hooks"
	(cd "$work/hooks" && i=0 && while [ $((i += 1)) -le 2000 ]; do
		mkdir -p "src/$((i % 40))" && echo "$i" >"src/$((i % 40))/$i.txt"
	done; git add . && git commit -q -m files && git klineage hooks install >/dev/null && echo more >src/1/1.txt &&
		git add .)
	talk 'hooks: nothing to do'
	hooked hooks.nothing
	figure 'nothing to do' s le 0.05 "$(samples hooks.nothing)"
	(cd "$work/hooks" && echo '/* the same again */' >>sgemm.c && git add sgemm.c)
	talk 'hooks: the quick stages'
	from=$(now)
	(cd "$work/hooks" && .git/hooks/pre-commit) >"$work/said" 2>&1 && now |
		awk -v from="$from" '{ printf "%.3f\n", ($1 - from) / 1e9 }' >"$work/hooks.fast"
	figure 'c-sgemm by the quick stages' s - 0 "$(samples hooks.fast)"
	talk 'hooks: judged before'
	hooked hooks.cached
	grep -q 'judged before' "$work/said" || : >"$work/hooks.cached"
	figure 'judged before' s le 0.15 "$(samples hooks.cached)"
}

# seconds <key> <command...>: its wall time is a sample
seconds () {
	key=$1
	shift
	from=$(now)
	"$@" >"$work/said" 2>"$work/why" || { talk "$key: $(head -n 1 "$work/why")"; return 1; }
	to=$(now)
	echo "$from $to" | awk '{ printf "%.4f\n", ($2 - $1) / 1e9 }' >>"$work/$key"
}

in_library () { (cd "$work/library" && "$@"); }

part_skills () {
	heading 'skills: a library of 100,000 cards'
	git init -q "$work/library"
	talk 'skills: making the library'
	"$build/bench/skills" write "$work/library" 100000 || return
	i=0
	while [ $((i += 1)) -le 3 ] && [ "$i" -le "$runs" ]; do
		talk "skills: lint and index, run $i"
		seconds skills.lint in_library git klineage skills lint || break
		rm -rf "$work/library/.git/klineage/cache"
		"$build/bench/skills" index "$work/library" >"$work/indexed" || break
		awk '{ print $2 / 1e9 }' "$work/indexed" >>"$work/skills.index"
		awk '{ print $3 / 1024 }' "$work/indexed" >>"$work/skills.memory"
	done
	figure 'git klineage skills lint' s le 20 "$(samples skills.lint)"
	figure 'the index, from nothing' s le 15 "$(samples skills.index)"
	figure 'memory for it, MiB' n le 500 "$(samples skills.memory)"
	talk 'skills: retrieval'
	"$build/bench/skills" retrieve "$work/library" $((runs * 20)) >"$work/asked" &&
		awk '{ print $2 / 1e9 }' "$work/asked" >"$work/skills.ask"
	figure 'retrieval, the index opened each time, in process' s le 0.02 "$(samples skills.ask)"
	template c-sgemm || return
	git clone -q "$work/c-sgemm" "$work/asking"
	git -C "$work/asking" fetch -q "$work/library" refs/heads/klineage/skills:refs/heads/klineage/skills
	cp -R "$work/library/.git/klineage" "$work/asking/.git/"
	i=0
	while [ $((i += 1)) -le $((runs * 4)) ]; do
		seconds skills.command git -C "$work/asking" klineage retrieve --platform cpu/x86-64-v3 || break
	done
	figure 'git klineage retrieve' s le 0.06 "$(samples skills.command)"

	heading 'events: 100,000, one on each of 100,000 commits'
	git init -q "$work/many"
	commits 100000 | git -C "$work/many" fast-import --quiet --force
	git -C "$work/many" rev-list refs/heads/main | "$build/bench/events" write "$work/many" >"$work/wrote" || return
	i=0
	while [ $((i += 1)) -le "$runs" ]; do
		talk "events folded: run $i of $runs"
		rm -rf "$work/many/.git/klineage/cache"
		"$build/bench/events" indexed "$work/many" >"$work/folded"
		[ "$(cut -d ' ' -f 1,3 "$work/folded")" = '100000 100000' ] || break
		awk '{ print $2 / 1e9 }' "$work/folded" >>"$work/many.cold"
		"$build/bench/events" indexed "$work/many" >"$work/folded"
		[ "$(cut -d ' ' -f 1 "$work/folded")" = 100000 ] || break
		awk '{ print $2 / 1e9 }' "$work/folded" >>"$work/many.warm"
	done
	figure 'folded, from nothing' s le 6 "$(samples many.cold)"
	figure 'folded, from their index' s le 0.2 "$(samples many.warm)"
}

reviewed () {
	(cd "$work/review" && git klineage review --format markdown klineage/skills..changed)
	[ $? = 1 ]
}

part_review () {
	heading 'review: 1,000 changed cards'
	git init -q "$work/review" && "$build/bench/skills" write "$work/review" 1000 || return
	(cd "$work/review" && git checkout -q -b changed klineage/skills && for c in cards/*.yaml; do
		sed 's/Keep the/Hold the/; s/K % 64 == 0/K % 32 == 0/; s/M % 8 == 0/M % 16 == 0/; s/cases: \[/cases: [a-new-one, /' \
			"$c" >new && mv new "$c"
	done; git commit -q -a -m changed)
	i=0
	while [ $((i += 1)) -le "$runs" ]; do
		talk "review: run $i of $runs"
		seconds review.seconds reviewed || break
	done
	figure 'git klineage review' s le 2 "$(samples review.seconds)"
}

# one_of <name> <file>: the figure of that name
one_of () { awk -v name="$1" '$1 == name { print $2 }' "$2" >"$work/$1.one"; echo "$work/$1.one"; }

part_retrieval () {
	heading 'retrieval of what comes next, one workload left out'
	talk 'retrieval: asking about the states of the shipped lineages'
	for order in paper next; do
		sh "$here/bench/retrieval.sh" "$work/retrieval-$order" --order $order &&
			perl "$here/bench/retrieval.pl" "$work/retrieval-$order/states" >"$work/$order" || return
	done
	figure 'states that are asked about' n - '' "$(one_of states "$work/next")"
	figure 'those whose next mechanism the library has' n - '' "$(one_of decidable "$work/next")"
	for order in next paper; do
		figure "a right card among the first 8, order $order" '' ge 0.8 "$(one_of recall "$work/$order")"
		figure "mean of 1 / rank of the first right one, $order" '' ge 0.45 "$(one_of mrr "$work/$order")"
		figure "states to which no right card is offered, $order" n le 0 "$(one_of excluded "$work/$order")"
	done
	figure 'a right card among the first 8, random order' '' - '' "$(one_of recall_chance "$work/next")"
	figure 'mean of 1 / rank, random order' '' - '' "$(one_of mrr_chance "$work/next")"
}

# ruled <template>: the expert judged with the state that a walk by passes alone ended in as its parent
ruled () {
	template "$1" || return
	talk "$1: a walk by passes alone"
	(cd "$work/$1" && git klineage deopt --quiet --rewriter passes --no-rederive) >"$work/why" 2>&1 ||
		{ talk "$1: $(tail -n 1 "$work/why")"; return; }
	sed -n '1s/^/bench: /p' "$work/why" >&2
	end=$(git -C "$work/$1" for-each-ref --count=1 --format='%(objectname)' 'refs/heads/klineage/walk/*/*')
	best=$(git -C "$work/$1" commit-tree -p "$end" -m 'the expert, right after what the passes left' 'HEAD^{tree}')
	i=0
	while [ $((i += 1)) -le "$runs" ]; do
		talk "$1: its expert against what the passes left, run $i of $runs"
		gated "$work/$1" "$best" "$1.ruled" || break
	done
}

# the templates whose kernels run here
rule_templates () {
	echo c-topk c-sgemm
	if test -e /dev/nvidiactl; then
		echo cuda-gemm cuda-topk
	fi
}

part_rules () {
	heading 'rules: what passes alone take from an expert, without history and model'
	for t in $(rule_templates); do
		over_naive "$t"
		ruled "$t"
		figure "$t: the first state / expert" x - '' "$(samples "$t.leap.parent")"
		figure "$t: what the passes left / expert" x - '' "$(samples "$t.ruled.parent")"
		paste "$(samples "$t.leap.parent")" "$(samples "$t.ruled.parent")" |
			awk '$1 > 1 && $2 > 0 { print 100 * log($2) / log($1) }' >"$work/$t.share"
		figure "$t: share of the log-gain taken away" % ge 50 "$work/$t.share"
	done
	# KLINEAGE_SGEMM_CUDA=<clone>: a kernel by another author, by its PTX
	if test -n "${KLINEAGE_SGEMM_CUDA:-}" && command -v nvcc >/dev/null; then
		sh "$here/bench/author.sh" "$KLINEAGE_SGEMM_CUDA" "$build" >"$work/author" || :
		sed 's/^/bench: /' "$work/author" >&2
		awk '$2 > 0 && $3 < $2 / 4 { n++ } END { if (NR) print n + 0 }' "$work/author" >"$work/author.lost"
		figure "mechanisms that SGEMM_CUDA's kernel 12 loses" n ge 3 "$work/author.lost"
	fi
}

# counted <name>: a figure of clauses.pl as a file of samples; a share with two names, in %
counted () { awk -v a="$1" -v b="${2:-}" '$1 == a { x = $2 } $1 == b { y = $2 } END { if (b == "") print x + 0; else if (y > 0) print 100 * x / y }' "$work/counts" >"$work/counted.$1" && echo "$work/counted.$1"; }

part_clauses () {
	heading 'clauses: what probes say of the steps of shipped cards in C, and of the edits that walks rejected'
	talk 'clauses: probing; this takes its time'
	sh "$here/bench/clauses.sh" "$work/clauses" "${KLINEAGE_BENCH_PROBE:-30}" >"$work/probes" && perl "$here/bench/clauses.pl" "$work/probes" >"$work/counts" || return
	cp "$work/probes" "${KLINEAGE_BENCH_KEEP:-/dev/null}"
	figure 'cards' n - '' "$(counted cards)"
	figure 'steps of them, of which some point counts' n - '' "$(counted card-tested)"
	for state in witnessed stronger not-needed not-tested; do
		figure "clauses of cards: $state" n - '' "$(counted card-$state)"
	done
	figure 'rejected edits' n - '' "$(counted edits)"
	figure 'clauses of rejected edits: witnessed' n - '' "$(counted edit-witnessed)"
	figure 'drawn points of both that count' n ge 200 "$(counted drawn)"
	figure '  of which the kernel fails at' n - '' "$(counted drawn_fails)"
	figure '  of which are predicted' % ge 95 "$(counted drawn_right drawn)"
	figure '  of those of rejected edits alone' % - '' "$(counted edit-drawn_right edit-drawn)"
	figure 'rejected edits that conditions explain in full' n - '' "$(counted claimed)"
	figure '  of their drawn points are predicted' % ge 95 "$(counted claimed-drawn_right claimed-drawn)"
}

for part in $parts; do
	case " $all " in
	*" $part "*) ;;
	*) echo "bench: no part '$part': $(echo "$all" | sed 's/ /, /g')" >&2; exit 129 ;;
	esac
done
: >"$work/table"
load_before=$(cut -d ' ' -f 1 /proc/loadavg)
for part in $parts; do
	part_"$part"
done
echo
table
