#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt over a gate that is elsewhere: it waits with many candidates in one bundle, and goes on'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

lineage=klineage/lineage/scale/x
trees () { git -C "$1" log --format=%T $lineage; }
bundle () { git klineage deopt --status --json | perl -MJSON::PP -ne 'print decode_json($_)->{awaiting}{file}, "\n"'; }
jobs () { tar xOf "$1" manifest.json | perl -MJSON::PP -ne 'print scalar @{decode_json($_)->{jobs}}, "\n"'; }

# there <results>: take the bundle that is waited for to a worker
there () { klineage-worker --bundle "$(bundle)" -o "$1" 2>worker.err; }

test_expect_success 'a walk that is judged here, to compare with' '
	(make_repo here) && cp -R here r && cp -R here s && cp -R here many && cp -R here verbs && cp -R here part &&
	(cd here && git klineage deopt --rewriter history --name x -q)
'

test_expect_success 'it stops with all that may follow in one bundle, and says so' '
	(
	cd r && git klineage deopt --rewriter history --name x --runner bundle >out 2>err && says "waiting for results" out &&
	says "klineage-worker --bundle" out && says "gate --import" out &&
	git klineage deopt --status >out && says "awaits    the results of" out && says "if another is rejected" out &&
	test "$(jobs "$(bundle)")" -ge 5 &&
	test -z "$(git for-each-ref refs/heads/klineage refs/notes)" && git fsck --strict --no-dangling &&
	git klineage deopt --continue >out && says "still waiting, none of these results" out &&
	exits 128 git klineage deopt --runner bundle 2>err && says "already in progress" err
	)
'

test_expect_success 'the results are imported, it goes on and ends as it would have here' '
	(
	cd r && git klineage deopt --continue --json >out && grep "\"waiting\":true" out && grep "\"awaiting\":{" out &&
	there ../r.results && git klineage gate --import ../r.results && git klineage deopt --continue >out &&
	says "2 steps accepted, 1 rejected" out && git klineage fsck && git fsck --strict --no-dangling &&
	test -z "$(git for-each-ref refs/klineage/op)" && git klineage log >out && says "K_2" out
	) &&
	trees here >want && trees r >have && test_cmp want have
'

test_expect_success 'one job a bundle: as many journeys as verdicts' '
	(
	cd many && git config klineage.bundleJobs 1 &&
	git klineage deopt --rewriter history --name x --runner bundle >out && n=0 &&
	while grep -q waiting out; do
		n=$((n + 1)) && test "$n" -lt 9 && test "$(jobs "$(bundle)")" = 1 && there ../many.$n &&
		git klineage gate --import ../many.$n && git klineage deopt --continue >out || exit 1
	done && test "$n" = 4
	) &&
	trees many >have && test_cmp want have
'

test_expect_success 'a part of the results: the next bundle has what is missing' '
	(
	cd part && git klineage deopt --rewriter history --name x --runner bundle >out &&
	there ../whole && head -n 3 ../whole >../half && before=$(jobs "$(bundle)") &&
	exits 128 git klineage gate --import ../half 2>err && says "cut off" err &&
	git klineage deopt --continue >out && says "waiting for results" out && test "$(jobs "$(bundle)")" -lt "$before" &&
	git klineage gate --import ../whole >out && says "2 already known" out && git klineage deopt --continue >out
	) &&
	trees part >have && test_cmp want have
'

test_expect_success 'abort, skip, quit, another runner while it waits' '
	(
	cd verbs && git klineage deopt --rewriter history --name x --runner bundle >out &&
	exits 129 git klineage deopt --skip 2>err && exits 129 git klineage deopt --quit 2>err &&
	git klineage deopt --status >out && says awaits out &&
	git klineage deopt --abort && test -z "$(git for-each-ref refs/klineage)" &&
	git config klineage.bundleJobs 1 && git klineage deopt --rewriter history --name x --runner bundle >out &&
	there ../v.1 && git klineage gate --import ../v.1 && git klineage deopt --continue >out && says waiting out &&
	git klineage deopt --skip >out && says waiting out && git klineage deopt --status >out && says "1 rejected" out &&
	git klineage deopt --continue --runner local -q >out && says "accepted" out && git klineage fsck
	)
'

mkdir fake && cat >fake/ssh <<-\EOF && chmod +x fake/ssh
	#!/bin/sh
	echo "$5" >>"$FAKE_LOG"
	shift 4
	host=$1 && shift
	case $host in
	dies) sh -c "$*" | head -n 3; exit 255 ;;
	*) exec sh -c "$*" ;;
	esac
EOF
FAKE_LOG=$PWD/ssh.log
export FAKE_LOG

test_expect_success 'over ssh, with a connection that dies in the middle' '
	(
	cd s && PATH=$PWD/../fake:$PATH && export PATH &&
	exits 125 git klineage deopt --rewriter history --name x --runner ssh:dies 2>err &&
	says "2 of" err && says "and are kept" err && says "--continue" err &&
	git klineage deopt --status >out && ! grep awaits out &&
	git klineage deopt --continue --runner ssh:dies -q >out 2>err; rc=$?;
	test "$rc" = 125 && git klineage deopt --continue --runner ssh:gpu1 -q >out && says "2 steps accepted" out &&
	git klineage fsck
	) &&
	trees s >have && test_cmp want have && test "$(grep -c gpu1 ssh.log)" = 1
'

test_expect_success 'prepared patches: those behind one that fails travel with it' '
	git init -q -b main p && (
	cd p && (cd ../here && git archive main) | tar x && git config klineage.profileMs 300 && git add . && git commit -q -m expert &&
	mkdir ../patches &&
	sed "s/y\[i + 3\] = .*/y[i + 3] = 0;/" k/scale.c >new && mv new k/scale.c && git diff >../patches/1-wrong.patch &&
	git checkout -q k && sed "s/c = x/e = x/; s/ c \* 3/ e * 3/; s/i = 0;/i = 0; volatile int z = 0; (void)z;/" k/scale.c >new &&
	mv new k/scale.c && git diff >../patches/2-right.patch && git checkout -q k &&
	git klineage deopt --rewriter patches:../patches --name x --runner bundle >out && git klineage deopt --status >out &&
	test "$(grep -c "in scale.c" out)" -ge 2 && there ../p.results && git klineage gate --import ../p.results &&
	git klineage deopt --continue >out && says "1 step accepted, 1 rejected" out
	)
'

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
else
	say "skipped: no fault build here (make FAULT=1)"
fi
test_expect_success FAULT 'killed and failed at some of the points; tests/fault/bundle.sh <build> tries them all' '
	sh "$KLINEAGE_TOP/tests/fault/bundle.sh" "$KLINEAGE_TOP/build-fault" 13
'

test_done
