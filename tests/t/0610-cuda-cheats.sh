#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='cheating and odd device kernels, as far as they are judged without a GPU'
. ./lib.sh
cheats=$KLINEAGE_TOP/tests/cheats/cuda
. "$cheats"/lib.sh

test -n "$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)" && test_set_prereq NVCC

test_expect_success 'every kernel says what it is for' '
	for name in $(cheat_names "$cheats")
	do
		on=$(cheat_contract "$cheats" $name) &&
		test -d "$cheats/contracts/$on" &&
		case "$name $(cheat_wants "$cheats" $name)" in
		refused/*" fail "?* | accepted/*" pass") ;;
		*) echo "$name" >&2; return 1 ;;
		esac || return 1
	done &&
	test $(cheat_names "$cheats" | grep -c ^refused) -ge 100 &&
	test $(cheat_names "$cheats" | grep -c ^accepted) -ge 30
'

test_expect_success NVCC 'all are compiled and audited, their plans are checked, and the rest waits for a GPU' '
	cheat_repo "$cheats" repo &&
	(cd repo && exits 125 git klineage gate --no-profile --no-note --runner bundle -o ../jobs.tar \
		$(cheat_names "$cheats") >../out 2>../err) &&
	says "no verdict yet" err
'

# decided <name>: just this verdict stands there, or none where a GPU is needed
decided () {
	got=$(sed -n "s|^$1: [a-z]*: \([a-z]* [a-z-]*\) .*|\1|p" out)
	if cheat_is_decided_here "$cheats" "$1"
	then
		cheat_ok "$(cheat_wants "$cheats" "$1")" "$got"
	else
		test -z "$got"
	fi && return 0
	echo "$1: '$got' instead of '$(cheat_wants "$cheats" "$1")':" >&2
	grep -A1 "^$1:" out >&2
	return 1
}

for name in $(cheat_names "$cheats")
do
	test_expect_success NVCC "$name" "decided '$name'"
done

test_expect_success NVCC 'a job for each that was not decided' '
	for name in $(cheat_names "$cheats")
	do
		cheat_is_decided_here "$cheats" $name || echo $name
	done >waiting &&
	tar xOf jobs.tar manifest.json | grep -o "\"digest\":" >entries &&
	test "$(wc -l <entries)" = "$(wc -l <waiting)"
'

test_have_prereq NVCC || echo "# nvcc is not here: no device code was compiled" >&2
test_done
