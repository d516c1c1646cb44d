# SPDX-License-Identifier: Apache-2.0
# cheats.sh - shared by 0300-accepted.sh and 0310-refused.sh. Line 2 of every kernel has the expected verdict and class. More
# lines may follow: "contract:" names the directory of its contract, if that is not the one of all others, "with:" has further
# options of the gate, and "lacks:" has features that the event may not have.

# repository_for <repository> <directory of the contract>; a contract without an oracle has that of all others
repository_for () {
	git init -q "$1" && cp "$KLINEAGE_TOP"/tests/cheats/c/oracle.c "$2"/klineage.yaml "$1" &&
	find "$2" -maxdepth 1 -name "*.c" -exec cp {} "$1" \; && (cd "$1" && git add . && git commit -q -m contract)
}

test_expect_success 'a repository for each contract' '
	repository_for repo "$KLINEAGE_TOP"/tests/cheats/c &&
	for contract in "$KLINEAGE_TOP"/tests/cheats/c/contracts/*
	do
		repository_for "repo-$(basename "$contract")" "$contract" || return 1
	done
'

# line_of <word> <kernel>: print what follows the word in a comment at the top of the kernel
line_of () { sed -n "2,5s|^/\* $1: \(.*\) \*/$|\1|p" "$2"; }

# judged <kernel>: judge the kernel, with the profile; succeed if verdict and class are those of its second line, and the event
# has none of the features that it may not have
judged () {
	want=$(line_of gate "$1")
	test -n "$want" || return 1
	contract=$(line_of contract "$1")
	repo=repo${contract:+-$contract}
	cp "$1" "$repo/mm.c" || return 1
	case $want in pass) code=0 ;; *) code=1 ;; esac
	# shellcheck disable=SC2046
	(cd "$repo" && exits $code git klineage gate --worktree --json $(line_of with "$1") >../event 2>../why) || {
		cat event why >&2
		return 1
	}
	verdict=$(perl -ne "print \$1 if /\"v\":1,\"verdict\":\"([a-z-]+)\"/" event)
	class=$(perl -ne "print \$1 if /\"class\":\"([a-z-]+)\"/" event)
	got="$verdict${class:+ $class}"
	for feature in $(line_of lacks "$1")
	do
		grep -F "\"$feature\"" event >/dev/null && got="$got, with $feature"
	done
	test "$got" = "$want" && return 0
	echo "got \"$got\", expected \"$want\":" >&2
	cat why event >&2
	return 1
}

# judge_all <accepted|refused>: one test for each kernel of the directory, in an order drawn from KLINEAGE_CHEATS_SEED,
# until KLINEAGE_CHEATS_SECONDS (80) are over but for at least ten kernels; 0 seconds: all of them, as "make cheats" does
judge_all () {
	seconds=${KLINEAGE_CHEATS_SECONDS:-80}
	seed=${KLINEAGE_CHEATS_SEED:-$(date +%s)}
	begun=$(date +%s)
	judged=0
	ls "$KLINEAGE_TOP"/tests/cheats/c/"$1"/*.c >kernels &&
	awk -v seed="$seed" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' kernels | sort | cut -f2 >order
	while read -r kernel
	do
		test "$seconds" -gt 0 && test $judged -ge 10 && test $(($(date +%s) - begun)) -ge "$seconds" && break
		name=$(basename "$kernel" .c)
		test_expect_success "$1: $name" "judged '$kernel'"
		judged=$((judged + 1))
	done <order
	echo "# $judged of $(wc -l <kernels) kernels, drawn by KLINEAGE_CHEATS_SEED=$seed"
}
