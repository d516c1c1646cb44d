#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage init: a contract from a prototype, a history from a template'
. ./lib.sh

test_expect_success 'the verbs are listed, and help works outside a repository' '
	git klineage help >out &&
	says "git klineage <verb>" out &&
	git klineage gate -h >out &&
	says "usage: git klineage gate" out &&
	exits 129 git klineage nonsense 2>err &&
	says "not a verb" err &&
	exits 129 git klineage init 2>err &&
	says "usage: git klineage init" err
'

test_expect_success 'a kernel file gets a contract and an oracle skeleton beside it' '
	git init -q own && mkdir own/src &&
	cat >own/src/axpy.c <<-\EOF &&
	#include <stdint.h>

	static float twice(float x) { return x + x; }

	void axpy(int64_t n, float alpha, const float *x, float *y)
	{
		for (int64_t i = 0; i < n; i++)
			y[i] = alpha * x[i] + twice(0);
	}
	EOF
	(cd own && git klineage init src/axpy.c) >out && cp out listed &&
	says "void axpy" out &&
	says "entry: axpy" own/src/klineage.yaml &&
	says "TODO" own/src/klineage.yaml &&
	says "KL_ORACLE_TODO" own/src/oracle.c
'

test_expect_success 'nothing is overwritten' '
	cp own/src/klineage.yaml before &&
	(cd own && exits 128 git klineage init src/axpy.c) 2>err &&
	says "not overwriting it" err &&
	test_cmp before own/src/klineage.yaml
'

test_expect_success 'what is marked TODO is listed, all of it' '
	(cd own && git add . && exits 128 git klineage gate --worktree 2>../err) &&
	says "hint: fill in all places marked TODO: lines 7, 21, 22, 23" err &&
	says "7: case: {op: axpy, dims: {n: TODO}}" listed &&
	says "value: TODO" listed && says "shape: [TODO]" listed
'

test_expect_success 'a second kernel in the directory gets a contract of its own' '
	cat >own/src/crc.c <<-\EOF &&
	#include <stddef.h>
	typedef unsigned int u32;
	u32 crc(size_t n, unsigned char *p, u32 seed)
	{
		u32 sum = ~seed;
		while (n--)
			sum = sum * 31 + *p++;
		return sum;
	}
	EOF
	cp own/src/klineage.yaml before && (cd own && git klineage init src/crc.c) >out &&
	test_cmp before own/src/klineage.yaml && says "wrote crc.klineage.yaml and crc.oracle.c" out &&
	says "workload: crc" own/src/crc.klineage.yaml && says "sources: [crc.oracle.c]" own/src/crc.klineage.yaml &&
	says "name: p, kind: in, dtype: u8" own/src/crc.klineage.yaml && says "returns: {dtype: u32}" own/src/crc.klineage.yaml &&
	says "name: seed, kind: scalar, dtype: u32" own/src/crc.klineage.yaml &&
	says "uint32_t oracle(size_t n, const unsigned char *p, uint32_t seed)" own/src/crc.oracle.c &&
	(cd own && exits 128 git klineage init src/crc.c) 2>err && says "not overwriting it" err
'

test_expect_success 'a file without a kernel, and one that is not there' '
	echo "int x;" >own/none.c &&
	(cd own && exits 128 git klineage init none.c) 2>err &&
	(cd own && exits 128 git klineage init gone.c) 2>err &&
	says "gone.c" err
'

test_expect_success 'the templates are listed' '
	exits 129 git klineage init --list --ci github && exits 129 git klineage init --list --template mm &&
	for mode in "--sign" "--list" "--ci github" "--template mm"; do
		for more in --entry --workload; do
			exits 129 git klineage init $mode $more mm 2>err && says "need a kernel file" err || return 1
		done
	done &&
	git klineage init --list >out &&
	says c-topk out && says c-sgemm out && says c-conv2d out && says c-gdn out
'

test_expect_success 'a template becomes a repository with its whole history' '
	git klineage init --template c-topk topk >out &&
	git -C topk fsck --strict &&
	git -C topk status --porcelain >status && test_must_fail test -s status &&
	git -C topk log --format=%s >log &&
	test "$(wc -l <log)" = "$(ls "$KLINEAGE_TOP"/templates/workloads/c-topk/history | wc -l)" &&
	git -C topk log -1 --format=%B | git interpret-trailers --parse >trailers &&
	says "Klineage-Mechanism:" trailers
'

test_expect_success 'the same ids everywhere, whoever asks' '
	GIT_AUTHOR_NAME=other GIT_COMMITTER_NAME=other git klineage init --template c-topk again &&
	test "$(git -C topk rev-parse HEAD)" = "$(git -C again rev-parse HEAD)"
'

test_expect_success 'a folder in the present repository, on top of its history' '
	git init -q host && (
		cd host && echo hello >file && git add file && git commit -q -m one && mkdir sub && cd sub &&
		git klineage init --template c-sgemm gemm
	) &&
	test -f host/sub/gemm/klineage.yaml &&
	git -C host cat-file -e HEAD:file &&
	git -C host status --porcelain >status && test_must_fail test -s status &&
	(cd host/sub && exits 128 git klineage init --template c-sgemm gemm) 2>err &&
	says "already" err
'

test_expect_success 'a folder in the way of untracked work is left alone' '
	mkdir host/c-topk && echo mine >host/c-topk/topk.c &&
	old=$(git -C host rev-parse HEAD) &&
	(cd host && exits 128 git klineage init --template c-topk) 2>err &&
	test "$(cat host/c-topk/topk.c)" = mine &&
	test "$(git -C host rev-parse HEAD)" = "$old"
'

test_expect_success 'a directory that the present repository ignores becomes a repository of its own' '
	git init -q outer && mkdir -p outer/scratch && echo "scratch/" >outer/.gitignore && echo "own/" >>outer/.gitignore &&
	git -C outer add .gitignore && git -C outer commit -q -m one && old=$(git -C outer rev-parse HEAD) &&
	(cd outer/scratch && git klineage init --template c-topk deep/topk) >out &&
	says "created a repository" out &&
	(cd outer && git klineage init --template c-topk own && git klineage init --template c-topk own-not) &&
	test "$(git -C outer/scratch/deep/topk rev-parse HEAD)" = "$(git -C topk rev-parse HEAD)" &&
	test "$(git -C outer/own rev-parse HEAD)" = "$(git -C topk rev-parse HEAD)" &&
	git -C outer log --format= --name-only "$old"..HEAD | grep -v "^own-not/" >strays
	test_must_fail test -s strays && test -f outer/own-not/klineage.yaml && test ! -e outer/own-not/.git
'

test_expect_success 'an unknown template and a directory that is not empty' '
	exits 128 git klineage init --template nothing 2>err &&
	says "c-topk" err &&
	exits 128 git klineage init --template ../../etc 2>err &&
	exits 128 git klineage init --template c-topk topk 2>err &&
	says "already" err
'

# a call that is killed at some moment, and then the same call once more
test_expect_success 'what a killed call left in a directory is gone after the next one' '
	mkdir left && (cd left && git klineage init --template c-topk .) && rm left/topk.c && touch left/.git/index.lock &&
	printf c-topk >left/.git/klineage-template && mkdir -p left/.klineage-init-4194305-abcdef/new && echo x >left/.klineage-init-4194305-abcdef/new/x &&
	(cd left && git klineage init --template c-topk .) && rm left/.git/index.lock &&
	test ! -e left/.git/klineage-template && git -C left status --porcelain >out && test_must_fail test -s out && rm -rf left
'

test_expect_success 'a killed call leaves nothing that the next one refuses' '
	want=$(git -C topk rev-parse HEAD) && mkdir killed && cd killed &&
	for ms in 002 005 010 020 030 040 060 080 100 150 200; do
		mkdir -p empty-$ms here-$ms &&
		{ timeout -s KILL 0.$ms "$KLINEAGE_BUILD/git-klineage" init --template c-topk new-$ms
		timeout -s KILL 0.$ms "$KLINEAGE_BUILD/git-klineage" init --template c-topk empty-$ms
		(cd here-$ms && timeout -s KILL 0.$ms "$KLINEAGE_BUILD/git-klineage" init --template c-topk .); } >out 2>&1
		for d in new-$ms empty-$ms; do
			test "$(git -C $d rev-parse -q --verify HEAD 2>/dev/null)" = $want && test -e $d/topk.c && test ! -e $d/.git/klineage-template ||
				git klineage init --template c-topk $d || return 1
		done &&
		{ test -e here-$ms/topk.c && test ! -e here-$ms/.git/klineage-template || (cd here-$ms && git klineage init --template c-topk .) || return 1; }
	done &&
	for d in new-* empty-* here-*; do
		test "$(git -C $d rev-parse HEAD)" = $want && git -C $d status --porcelain >../status && test_must_fail test -s ../status || return 1
	done &&
	git klineage init --template c-topk last >out && ls -A | grep -v "^new-\|^empty-\|^here-\|^last$\|^out$" >../left; test_must_fail test -s ../left && cd ..
'

test_done
