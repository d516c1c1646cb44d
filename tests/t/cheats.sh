# SPDX-License-Identifier: Apache-2.0
# cheats.sh - shared by 0300-accepted.sh and 0310-refused.sh. Line 2 of every kernel has the expected verdict and class.

test_expect_success 'a repository with the contract' '
	git init -q repo &&
	cp "$KLINEAGE_TOP"/tests/cheats/c/klineage.yaml "$KLINEAGE_TOP"/tests/cheats/c/oracle.c repo/ &&
	cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/plain.c repo/mm.c &&
	(cd repo && git add . && git commit -q -m "mm: plain")
'

# judged <kernel>: judge the kernel; succeed if verdict and class are those of its second line
judged () {
	want=$(sed -n "2s|^/\* gate: \(.*\) \*/$|\1|p" "$1")
	test -n "$want" || return 1
	cp "$1" repo/mm.c
	case $want in pass) code=0 ;; *) code=1 ;; esac
	(cd repo && exits $code git klineage gate --worktree --no-profile --json >../event 2>../why) || {
		cat event why >&2
		return 1
	}
	verdict=$(perl -ne "print \$1 if /\"verdict\":\"([a-z-]+)\"/" event)
	class=$(perl -ne "print \$1 if /\"class\":\"([a-z-]+)\"/" event)
	got="$verdict${class:+ $class}"
	test "$got" = "$want" && return 0
	echo "got \"$got\", expected \"$want\":" >&2
	cat why event >&2
	return 1
}

# judge_all <accepted|refused>: one test for each kernel of the directory
judge_all () {
	for kernel in "$KLINEAGE_TOP"/tests/cheats/c/"$1"/*.c; do
		name=$(basename "$kernel" .c)
		test_expect_success "$1: $name" "judged '$kernel'"
	done
}
