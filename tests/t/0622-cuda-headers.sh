#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='libraries of headers that a cuda contract names'
. ./lib.sh
. "$KLINEAGE_TOP"/tests/cheats/cuda/lib.sh

test -n "$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)" && test_set_prereq NVCC

test_expect_success 'a kernel that includes one, and no path in sight' '
	mkdir -p lib/mine && echo "#define TWICE 2" >lib/mine/twice.h &&
	git init -q repo && cp "$KLINEAGE_TOP"/tests/cheats/cuda/contracts/axpy/* repo &&
	sed "s|launch.yaml\]}|launch.yaml], headers: [mine]}|" repo/klineage.yaml >new && mv new repo/klineage.yaml &&
	sed "4i #include <mine/twice.h>" "$KLINEAGE_TOP"/tests/cheats/cuda/accepted/plain.cu |
		sed "s/2 \* x/TWICE * x/" >repo/k.cu &&
	git -C repo add . && git -C repo commit -q -m kernel
'

# judge: its bundle's name for the compiler
judge () {
	(cd repo && exits 125 git klineage gate --no-profile --no-note --runner bundle -o ../jobs.tar) 2>err &&
	rm -rf jobs && mkdir jobs && tar xf jobs.tar -C jobs &&
	sed -n "s/.*\"compiler\":\"\([^\"]*\)\".*/\1/p" jobs/manifest.json >compiler
}

test_expect_success NVCC 'unset: no verdict, and what to set' '
	(cd repo && exits 125 git klineage gate --no-profile --no-note) 2>err &&
	grep -q "the headers .mine., but their directory is not configured" err &&
	says "git config klineage.mine.headers <directory>" err
'

test_expect_success NVCC 'a relative path, one that is not there: neither is guessed at' '
	(cd repo && exits 125 git -c klineage.mine.headers=../lib klineage gate --no-note) 2>err &&
	says "use an absolute path" err &&
	(cd repo && exits 125 git -c klineage.mine.headers=/nonexistent klineage gate --no-note) 2>err &&
	says "is not a directory" err
'

test_expect_success NVCC 'set: it compiles, and the digest of what it was compiled with is told' '
	git -C repo config klineage.mine.headers "$PWD/lib" && judge && cp compiler first &&
	grep -q "^nvcc [0-9.]*, mine [0-9a-f]\{12\}$" first
'

test_expect_success NVCC 'another header is another verdict: nothing is taken from the cache' '
	(cd repo && exits 125 git klineage gate --no-profile --no-note --runner bundle -o ../jobs.tar) 2>err &&
	echo "#error no" >lib/mine/twice.h &&
	(cd repo && exits 1 git klineage gate --no-profile --no-note --runner bundle -o ../jobs.tar) >out 2>err &&
	says "fail compile" out && ! grep -q "$(sed "s/.*, //" first)" out
'

test_expect_success NVCC 'what lies beside it is not to be seen' '
	echo "#define TWICE 2" >outside.h && ln -s ../../outside.h lib/mine/out.h &&
	echo "#include \"out.h\"" >lib/mine/twice.h &&
	(cd repo && exits 1 git klineage gate --no-profile --no-note --runner bundle -o ../jobs.tar) >out 2>err &&
	says "fail compile" out
'

test_expect_success 'a contract that names none, twice, or by a path' '
	for bad in "mine" "[mine, mine]" "[../lib]" "[a, b, c, d, e]"
	do
		sed "s|headers: \[mine\]|headers: $bad|" repo/klineage.yaml >bad.yaml &&
		(cd repo && git show HEAD:klineage.yaml >/dev/null && cp ../bad.yaml klineage.yaml &&
		 exits 128 git klineage gate --worktree --no-note) 2>err && says "klineage.yaml:5:" err || return 1
	done
'

test -n "$KLINEAGE_CUTLASS" && test_set_prereq CUTLASS
test_expect_success NVCC,CUTLASS 'kernels built of CUTLASS and CuTe are compiled and pass the audit' '
	cheat_repo "$KLINEAGE_TOP/tests/cheats/cuda-cutlass" cutlass &&
	(cd cutlass && exits 125 git klineage gate --no-profile --no-note --runner bundle -o ../cutlass.tar \
		$(cheat_names "$KLINEAGE_TOP/tests/cheats/cuda-cutlass")) 2>err &&
	test "$(tar tf cutlass.tar | grep -c ^jobs/.)" = 2
'

test_have_prereq NVCC || echo "# nvcc is not here: nothing was compiled" >&2
test_have_prereq CUTLASS || echo "# KLINEAGE_CUTLASS names no headers of CUTLASS: kernels built of it were not compiled" >&2
test_done
