#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: bad input gets a clear error and the right exit code'
. ./lib.sh

q="'"

cheats=$KLINEAGE_TOP/tests/cheats/c

test_expect_success 'not a repository' '
	mkdir plain && (cd plain && exits 128 git klineage gate) 2>err &&
	says "not in a git repository" err
'

test_expect_success 'unborn HEAD' '
	git init -q repo && (cd repo && exits 128 git klineage gate) 2>err &&
	says "no commit" err
'

test_expect_success 'no contract in the state' '
	(cd repo && echo x >x && git add x && git commit -q -m x && exits 125 git klineage gate) 2>err &&
	says "no contract" err && says "git klineage init" err
'

test_expect_success 'no such revision' '
	(cd repo && exits 128 git klineage gate nowhere) 2>err && says "nowhere" err
'

test_expect_success 'bare: revisions can be judged, a worktree cannot' '
	(
		cd repo && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . &&
		cp "$cheats"/accepted/plain.c mm.c && git add . && git commit -q -m plain
	) &&
	git clone -q --bare repo bare.git &&
	(cd bare.git && git klineage gate --no-profile --no-note >../out) && says "mm: pass" out &&
	(cd bare.git && exits 128 git klineage gate --worktree) 2>err && says "bare" err
'

test_expect_success 'shallow: one commit can be judged' '
	git clone -q --depth 1 "file://$PWD/repo" shallow &&
	(cd shallow && git klineage gate --no-profile >../out) && says "mm: pass" out
'

test_expect_success 'nobody to write a note as' '
	git clone -q repo nobody && (
		cd nobody && git config user.useConfigOnly true &&
		unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL &&
		exits 128 git klineage gate --no-profile 2>../err &&
		git klineage gate --no-profile --no-note
	) && says "no-note" err
'

test_expect_success 'sha256 is refused, saying why' '
	git init -q --object-format=sha256 big &&
	(cd big && exits 125 git klineage gate) 2>err && says "sha256" err
'

test_expect_success 'reftable is refused, saying why' '
	git init -q tables && (
		cd tables && git config core.repositoryformatversion 1 && git config extensions.refStorage reftable &&
		(exits 125 git klineage gate || exits 128 git klineage gate)
	) 2>err && says "ref" err
'

# contract <sed script> <exit> <words>: the contract, changed, gets that answer
contract () {
	(
		cd repo && sed "$1" "$cheats"/klineage.yaml >klineage.yaml &&
		exits "$2" git klineage gate --worktree --no-profile
	) 2>err && says "$3" err
}

test_expect_success 'a malformed contract says where' '
	contract "s/^args:/args: [/" 128 "klineage.yaml:"
'
test_expect_success 'an unknown key' 'contract "2s/^/nonsense: 1\n/" 128 "nonsense"'
test_expect_success 'a missing key' 'contract "/^oracle:/d" 128 "oracle"'
test_expect_success 'an extent of zero' 'contract "s/M: 96/M: 0/" 128 "klineage.yaml:"'
test_expect_success 'a negative extent' 'contract "s/M: 96/M: -4/" 128 "klineage.yaml:"'
test_expect_success 'an absurd extent' '
	contract "s/M: 96/M: 4611686018427387904/; s/, M <= 128//" 128 "klineage.yaml:"
'
test_expect_success 'a shape over an unknown dim' 'contract "s/shape: \[M, N\]/shape: [M, X]/" 128 "X"'
test_expect_success 'a path that leaves the directory' 'contract "s|\[mm.c\]|[../mm.c]|" 128 "../mm.c"'
test_expect_success 'an absolute path' 'contract "s|\[oracle.c\]|[/etc/passwd]|" 128 "/etc/passwd"'
test_expect_success 'a flag that names a file' 'contract "s|\[-O2\]|[-include/etc/passwd]|" 128 "-include"'
test_expect_success 'a source that is not there' 'contract "s|\[mm.c\]|[gone.c]|" 128 "gone.c"'
test_expect_success 'all sources that are not there' '
	contract "s|\[mm.c\]|[off.c, mm.c, gone.c]|" 128 "2 of the files do not exist: ${q}gone.c$q, ${q}off.c$q"
'
test_expect_success 'a source that is a symlink' '
	ln -s /etc/passwd repo/link.c &&
	contract "s|\[mm.c\]|[link.c]|" 128 "link.c"
'
test_expect_success 'an unknown baseline' '
	contract "\$a baseline: magic.sgemm" 128 "magic.sgemm"
'
test_expect_success 'a case outside the domain' 'contract "s/M <= 128/M <= 64/" 128 "M <= 64"'

test_expect_success 'an oracle that is not written yet' '
	(
		cd repo && cp "$cheats"/klineage.yaml . &&
		echo "KL_ORACLE_TODO;" >>oracle.c && exits 125 git klineage gate --worktree
	) 2>err && says "oracle" err
'

test_expect_success 'an oracle that does not compile, hangs or crashes is no verdict' '
	for body in "nonsense" "for (;;) C[0] = 0;" "*(volatile int *)8 = 1;"; do
		(
			cd repo && printf "#include <stdint.h>\n#include \"kl_oracle.h\"\nvoid oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)\n{\n%s\n}\n" "$body" >oracle.c &&
			exits 125 git klineage gate --worktree
		) 2>err && says "oracle" err || return 1
	done
'

test_expect_success 'an oracle that answers a constant fails the audit' '
	(
		cd repo && printf "#include <stdint.h>\n#include \"kl_oracle.h\"\nvoid oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)\n{\nfor (int64_t i = 0; i < M * N; i++) C[i] = 0;\n}\n" >oracle.c &&
		exits 125 git klineage gate --worktree
	) 2>err && says "audit" err
'

test_expect_success 'nothing of this was lost or left behind' '
	git -C repo fsck --strict && git -C repo for-each-ref refs/klineage >refs && test_must_fail test -s refs
'

test_done
