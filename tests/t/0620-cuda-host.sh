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

# --- a worker that does not say what stood around host code ---------------------------

test_expect_success NVCC 'a worker without a GPU judges none of them' '
	klineage-worker --bundle jobs.tar -o none.results 2>log &&
	(cd repo && exits 125 git klineage gate --import ../none.results >../out 2>../err) &&
	says "0 imported, 0 already known, 0 refused, 5 not judged" out && says "no GPU here" err
'

# claims <wall>: all jobs passed, so their worker says, behind that wall
claims () {
	reseal "\$j->{result} = { schema => q(klineage.result/1), status => q(pass),
		correct => { cases => 3, calls => 9, elements => 12, seeds => [q(1)], margin_ppm => 10 }, $1 };
		\$j->{device} = q(A GPU)" none.results
}

test_expect_success NVCC 'what comes back without a word of the wall is no verdict, and leaves none' '
	claims "" >old.results &&
	(cd repo && exits 125 git klineage gate --import ../old.results >../out 2>../err) &&
	says "0 imported, 0 already known, 0 refused, 5 not judged" out &&
	says "does not report how host code was confined" err && says "as new as this git-klineage" err &&
	test -z "$(git -C repo for-each-ref refs/notes)"
'

test_expect_success NVCC 'nor is half a wall, or one that nothing ran behind' '
	claims "wall => { processes => 2, closed => [qw(capabilities seccomp)] }" >half.results &&
	(cd repo && exits 125 git klineage gate --import ../half.results 2>../err) &&
	says "not fully confined: '"'landlock'"' is missing" err &&
	claims "wall => { processes => 0, closed => [] }" >idle.results &&
	(cd repo && exits 125 git klineage gate --import ../idle.results 2>../err) &&
	says "no host code ran confined" err &&
	test -z "$(git -C repo for-each-ref refs/notes)"
'

test_expect_success NVCC 'who says all of it is believed' '
	claims "wall => { processes => 2, closed => [qw(capabilities landlock seccomp)] }" >new.results &&
	(cd repo && git klineage gate --import ../new.results >../out) &&
	says "5 imported" out && test -n "$(git -C repo for-each-ref refs/notes)"
'

# one beside git-klineage that only says that all is well
test_expect_success NVCC 'a worker of this machine is asked for the same' '
	mkdir bin && cp "$(command -v git-klineage)" bin/ &&
	cat >bin/klineage-worker <<-\EOF &&
	#!/bin/sh
	cat >/dev/null
	echo "{\"schema\":\"klineage.result/1\",\"status\":\"pass\",\"correct\":{\"cases\":3}$(cat "${0%/*}/wall")}"
	EOF
	chmod +x bin/klineage-worker && : >bin/wall &&
	name=$(cheat_names "$cheats" | grep accepted/ | head -n 1) &&
	(cd repo && export PATH="$PWD/../bin:$PATH" KLINEAGE_SHARE="$KLINEAGE_TOP" &&
		exits 125 git klineage gate --no-profile --fresh "$name" 2>../err) &&
	says "does not report how host code was confined" err &&
	echo ",\"wall\":{\"processes\":1,\"closed\":[\"capabilities\",\"landlock\",\"seccomp\"]}" >bin/wall &&
	(cd repo && export PATH="$PWD/../bin:$PATH" KLINEAGE_SHARE="$KLINEAGE_TOP" && git klineage gate --no-profile --fresh "$name" >../out) &&
	says "host-sandboxed" out
'

test_have_prereq NVCC || echo "# nvcc is not here: no host code was compiled" >&2
test_done
