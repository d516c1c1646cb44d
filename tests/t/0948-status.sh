#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage status: kernels, verdicts, the walk, what is not pushed'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

# row <workload> <place>: its fields
row () { git klineage status --porcelain | awk -F '\t' -v w="$1" -v p="$2" '$1 == w && $2 == p'; }
state () { row "$1" "$2" | cut -f3; }

test_expect_success 'nothing here: what to do; a bad option' '
	git init -q -b main r && cd r && git klineage status >out && says "git klineage adopt" out &&
	git klineage status --porcelain >out && test_must_be_empty out &&
	exits 129 git klineage status extra 2>err && says "takes no argument" err &&
	exits 129 git klineage status --json --porcelain
'

test_expect_success 'a contract that git does not track, from its directory; then staged, committed, not judged' '
	mkdir k && contract k scale k.c "v * 3" && plain k/k.c scale "v * 3" "" && cd k &&
	git klineage status >../out && cd .. && says "scale (k/klineage.yaml)" out && says "HEAD      absent" out &&
	says "worktree  not judged; judge it: git klineage gate --worktree --workload scale" out &&
	git add -A k && git klineage status >out && says "index     not judged; judge it: git klineage gate --staged --workload scale" out &&
	says "worktree  as in the index" out && git commit -qm scale && git klineage status >out && says "worktree  as in HEAD" out
'

test_expect_success 'verdicts of three places, from the cache and from notes; no second run' '
	test "$(state scale HEAD)" = "not judged" && git klineage gate --quick >/dev/null && test "$(state scale HEAD)" = checked &&
	sed -i "s/x\[i\]/x[0]/" k/k.c && test "$(state scale index)" = repeated && test "$(state scale worktree)" = "not judged" &&
	exits 1 git klineage gate --quick --worktree >/dev/null && test "$(state scale worktree)" = fail &&
	git klineage status >out && says "worktree  fail wrong-" out && git add k && test "$(state scale index)" = fail &&
	test "$(state scale worktree)" = repeated && git checkout -q HEAD -- k &&
	git klineage gate >/dev/null && test "$(state scale HEAD)" = pass && git klineage status >out && says "HEAD      pass, " out &&
	git for-each-ref >before && git klineage status >/dev/null && git for-each-ref >after && test_cmp before after
'

test_expect_success 'a contract with an error is named, the others are shown' '
	mkdir bad && echo "klineage: [" >bad/klineage.yaml && git add bad && git klineage status >out &&
	says "bad (bad/klineage.yaml)" out && says "index     cannot be read: " out && says "HEAD      pass" out && git rm -q -f --cached bad/klineage.yaml && rm -r bad
'

test_expect_success 'a detached HEAD, a bare clone, an unborn branch' '
	git checkout -q --detach && git klineage status >out && says "HEAD      pass" out && git checkout -q main &&
	git clone -q --bare . ../bare.git && git -C ../bare.git klineage status >out && says "HEAD " out && ! grep worktree out &&
	git init -q -b main ../unborn && (cd ../unborn && cp -R ../r/k . && cd k && git klineage status >out && says "worktree  not judged" out)
'

test_expect_success 'what a remote lacks is counted, as far as the last exchange tells' '
	git init -q --bare ../remote.git && git remote add origin ../remote.git && git klineage status >out &&
	says "remote '\''origin'\'': 1 ref to exchange: git klineage sync origin" out && git klineage sync origin >/dev/null &&
	git klineage status >out && ! grep exchange out
'

test_expect_success 'a walk in progress' '
	exits 125 git klineage deopt --rewriter exec --exec "exit 3" --name x scale >/dev/null 2>&1 ; git klineage status >out && says "walk of scale/x: 0 accepted steps" out &&
	git klineage status --json >out && says "\"walk\":{\"name\":\"x\",\"steps\":0,\"workload\":\"scale\"}" out && git klineage deopt --abort >/dev/null &&
	git klineage status --json >out && says "\"walk\":null" out
'

test_done
