#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='cuda surfaces with host code: cheats and legal ones, as far as they are judged without a GPU'
. ./lib.sh
cheats=$KLINEAGE_TOP/tests/cheats/cuda-host
. "$KLINEAGE_TOP"/tests/cheats/cuda/lib.sh

test -n "$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)" && test_set_prereq NVCC

test_expect_success NVCC 'all are compiled and audited, and the rest waits for a GPU' '
	cheat_repo "$cheats" repo &&
	(cd repo && exits 125 git klineage gate --no-profile --no-note --runner bundle -o ../jobs.tar \
		$(cheat_names "$cheats") >../out 2>../err) &&
	says "no verdict yet" err
'

test_expect_success NVCC 'the tier is that of a wall that host code is not run without' '
	(cd repo && exits 1 git klineage gate --no-profile --no-note --json refused/system >../event) &&
	says "\"tier\":\"host-sandboxed\"" event
'

# decided <name>: the verdict and the words that it says it wants, or none where a GPU is needed
decided () {
	got=$(sed -n "s|^$1: [a-z]*: \([a-z]* [a-z-]*\) .*|\1|p" out)
	words=$(sed -n "4s|^/\* says '\([^']*\)'.*|\1|p" "$cheats/$1.cu")
	if cheat_is_decided_here "$cheats" "$1"
	then
		cheat_ok "$(cheat_wants "$cheats" "$1")" "$got" && grep -A1 "^$1:" out | grep -qF -e "$words"
	else
		test -z "$got"
	fi && return 0
	echo "$1: '$got' instead of '$(cheat_wants "$cheats" "$1")', '$words':" >&2
	grep -A1 "^$1:" out >&2
	return 1
}

for name in $(cheat_names "$cheats")
do
	test_expect_success NVCC "$name" "decided '$name'"
done

test_expect_success NVCC 'such a verdict is never device-only' '
	grep -q "^refused/.*host-sandboxed)" out &&
	! grep -q "device-only" out
'

test_expect_success NVCC 'the job has no plan but the names of the kernels' '
	mkdir jobs && tar xf jobs.tar -C jobs &&
	grep -l "\"host\":true" jobs/jobs/* >hosts &&
	test "$(wc -l <hosts)" = 5 &&
	grep -q "\"kernels\":\[\"" $(cat hosts) &&
	grep -q "\"plan\":null" $(cat hosts)
'

test_have_prereq NVCC || echo "# nvcc is not here: no host code was compiled" >&2
test_done
