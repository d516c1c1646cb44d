#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='transplants and a trial that are judged elsewhere, stopped at their durable steps: while they send, while results are imported, while they go on

The worker runs once for each wave; its results serve every run, since equal jobs are equal bytes.'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/steps.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if test -x "$KLINEAGE_TOP/build-fault/git-klineage" && grep -q avx2 /proc/cpuinfo; then
	test_set_prereq FAULT
	PATH=$KLINEAGE_TOP/build-fault:$PATH
else
	say "skipped: no fault build here (make FAULT=1), or no AVX2"
fi

transplant () { git klineage transplant -q --json >../out 2>../err; }
trial () { git klineage admit -q --on poly --seed 9 "$(cat ../id)" >../out 2>../err; }
import () { git klineage gate --import "../$1.results" >../out 2>../err; }
sound () { git fsck --strict --no-dangling >../out 2>&1 && git klineage fsck >../out 2>&1 && says ": 0 errors" ../out; }
# prepare <verb>: the directories <verb>.ask, .import, .go, each as the phase finds it, and the points of each phase
prepare () {
	(cd "$1.ask" && cp -R . "../$1.sent" && cd "../$1.sent" && KLINEAGE_FAULT_LOG=$PWD/../$1.ask.points && export KLINEAGE_FAULT_LOG && { "$1"; test $? = 125; } && unset KLINEAGE_FAULT_LOG &&
	klineage-worker --bundle .git/klineage/bundles/*.tar -o "../$1.results" 2>../err && cp -R . "../$1.import" && KLINEAGE_FAULT_LOG=$PWD/../$1.import.points import "$1" && cp -R . "../$1.go" &&
	KLINEAGE_FAULT_LOG=$PWD/../$1.go.points "$1"; rc=$?; test $rc = 0 || test $rc = 125)
}
# what must be there in the end: the verdicts of the transplants; the trial, once, or a trial that waits
transplant_whole () { test "$(git log --format=%B refs/klineage/transplant/scale/x | grep -c ^Klineage-Transplant:)" -ge 8; }
trial_whole () {
	case $(git show "klineage/skills:cards/$(cat ../id).yaml" | sed -n '/^ver:/,$p' | grep -c trial:) in
	1) test ! -e ".git/klineage/admit/$(cat ../id).json" ;;
	0) test -s ".git/klineage/admit/$(cat ../id).json" ;;
	*) false ;;
	esac
}
# stop <verb> <phase> <way> <n>: stop the phase at a point; then all phases end well
stop () {
	(KLINEAGE_FAULT=$4:$3 && export KLINEAGE_FAULT && if test "$2" = import; then import "$1"; else "$1"; fi)
	rc=$?
	case $3$rc in kill137|fail128|fail125) ;; *) echo "ended with $rc"; return 1 ;; esac
	sound || return 1
	if test "$2" = ask; then
		"$1"
		test $? = 125 || return 1
	fi
	if test "$2" != go; then
		import "$1" || return 1
	fi
	"$1"
	rc=$?
	test $rc = 0 || test $rc = 125 || return 1
	sound && "$1"_whole
}
# sweep <verb> <phase>: kill it and make it fail at some of the points of the phase
sweep () {
	last=$(wc -l <"$1.$2.points")
	for way in kill fail; do
		for n in $(seq 2 $((last / 3)) "$last"); do
			rm -rf torn
			if ! cp -R "$1.$2" torn || ! (cd torn && stop "$1" "$2" $way "$n"); then
				echo "$1 $2 $n:$way"
				return 1
			fi
		done
	done
}

test_expect_success FAULT 'transplants: what each phase finds, and where it can stop' '
	steps transplant.ask >out 2>err && git -C transplant.ask config klineage.profileMs 300 && git -C transplant.ask config klineage.runner bundle && prepare transplant && wc -l transplant.*.points
'

for phase in ask import go
do
	test_expect_success FAULT "transplants, stopped while they $phase: no verdict is lost" "sweep transplant $phase"
done

. "$KLINEAGE_TOP/tests/t/materials.sh"	# some of its functions had other meanings until now
test_expect_success FAULT 'a trial: what each phase finds, and where it can stop' '
	(library trial.ask && the_card >../id && git config klineage.runner bundle) && prepare trial && wc -l trial.*.points
'

for phase in ask import go
do
	test_expect_success FAULT "a trial, stopped while it $phase: it is recorded once, or waits" "sweep trial $phase"
done

test_done
