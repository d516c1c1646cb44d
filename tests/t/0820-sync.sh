#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='exchange with a remote: both ways, at once, and with one that means no good'
. ./lib.sh

lineages=$KLINEAGE_TOP/skills/lineages
gate=refs/notes/klineage/gate

# clone <name>: a repository with a commit of its own and the hub as origin
clone () {
	git init -q "$1" && git -C "$1" remote add origin ../hub.git &&
	git -C "$1" commit -q --allow-empty -m "$1"
}

# ids <repository> <notes ref>: the ids of all events in its notes, sorted
ids () {
	git -C "$1" notes --ref "${2:-klineage/gate}" list | while read -r blob commit; do
		git -C "$1" cat-file blob "$blob"
	done | sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' | sort
}

# event <n>: a line whose id is right
event () {
	printf '{"kind":"gate","n":%d,"time":"2026-01-01T00:00:%02dZ","v":1}' "$1" "$(($1 % 60))" >line &&
	id=$(sha256sum line | cut -d ' ' -f 1) &&
	printf '{"id":"%s","kind":"gate","n":%d,"time":"2026-01-01T00:00:%02dZ","v":1}' "$id" "$1" "$(($1 % 60))"
}

test_expect_success 'set up: a hub, and a lineage in one clone' '
	git init -q --bare hub.git &&
	clone a && clone b &&
	(cd a && git klineage import "$lineages/cuda-topk" >../out) &&
	says "cuda-topk/sm_90-12b611a" out
'

test_expect_success 'a dry run moves nothing, here or there' '
	(cd a && git for-each-ref >../before && git klineage sync --dry-run origin >../out && git for-each-ref >../after) &&
	says "would give   $gate" out &&
	test_cmp before after &&
	git -C hub.git for-each-ref >out && test_must_fail test -s out
'

test_expect_success 'what one gives the other takes, byte for byte' '
	(cd a && exits 0 git klineage sync origin >../out) &&
	says "given    refs/heads/klineage/lineage/cuda-topk/sm_90-12b611a" out &&
	(cd b && exits 0 git klineage sync origin >../out) &&
	says "taken    refs/klineage/rejected/cuda-topk/sm_90-12b611a" out &&
	for r in refs/heads/klineage refs/klineage $gate; do
		git -C a for-each-ref $r >want && test -s want &&
		git -C b for-each-ref $r >have && test_cmp want have || return 1
	done &&
	git -C b fsck --strict --no-dangling &&
	(cd b && git klineage fsck >../out) && says "27 events, 0 cards: 0 errors" out &&
	(cd b && git klineage log cuda-topk >../out) && says "K_11" out
'

test_expect_success 'again there is nothing to do' '
	for c in a b; do
		(cd $c && git for-each-ref refs/heads refs/notes/klineage refs/klineage >../before &&
		 git klineage sync origin >../out &&
		 git for-each-ref refs/heads refs/notes/klineage refs/klineage >../after) &&
		says "nothing to exchange" out && test_cmp before after || return 1
	done
'

test_expect_success 'events of both sides are united, and no note is lost' '
	for c in a b; do
		(cd $c && event ${#c} >/dev/null && oid=$(git rev-parse HEAD) &&
		 test "$c" = a && n=1 || n=2
		 event $n >ev && git notes --ref klineage/gate add -F ev HEAD) || return 1
	done &&
	common=$(git -C a rev-parse klineage/lineage/cuda-topk/sm_90-12b611a) &&
	event 3 >ev && git -C a notes --ref klineage/gate append -F ../ev $common &&
	event 4 >ev && git -C b notes --ref klineage/gate append -F ../ev $common &&
	ids a >want.a && ids b >want.b && sort -u want.a want.b >want && test "$(wc -l <want)" = 31 &&
	(cd a && git klineage sync origin) && (cd b && git klineage sync origin >../out) && says "united   $gate" out &&
	(cd a && git klineage sync origin >../out) && says "moved    $gate" out &&
	for c in a b hub.git; do
		ids $c >have && test_cmp want have || return 1
	done &&
	test "$(git -C a rev-parse $gate)" = "$(git -C b rev-parse $gate)" &&
	git -C b log -1 --format=%s $gate >out && says "notes: merge" out
'

test_expect_success 'who unites does not show in what comes of it' '
	git clone -q --mirror hub.git left.git && git clone -q --mirror hub.git right.git &&
	for c in x y; do
		clone $c && (cd $c && git klineage sync --fetch origin) || return 1
	done &&
	for n in 11 12 13; do event $n >ev && git -C x notes --ref klineage/gate append -F ../ev $common || return 1; done &&
	for n in 22 21; do event $n >ev && git -C y notes --ref klineage/gate append -F ../ev $common || return 1; done &&
	cp -R x x2 && cp -R y y2 &&
	git -C x remote set-url origin ../left.git && git -C y remote set-url origin ../left.git &&
	git -C x2 remote set-url origin ../right.git && git -C y2 remote set-url origin ../right.git &&
	(cd x && git klineage sync origin) && (cd y && git klineage sync origin) &&
	(cd y2 && git klineage sync origin) && (cd x2 && git klineage sync origin) &&
	test "$(git -C left.git rev-parse $gate^{tree})" = "$(git -C right.git rev-parse $gate^{tree})" &&
	git -C left.git rev-parse "$gate^2"
'

test_expect_success '--fetch takes only, --push gives only' '
	clone c && (cd c && git klineage import "$lineages/cuda-gdn-cumsum" &&
	git -C ../hub.git for-each-ref >../before &&
	git klineage sync --fetch origin >../out && git -C ../hub.git for-each-ref >../after) &&
	test_cmp before after && says "taken    refs/heads/klineage/lineage/cuda-topk" out && ! grep given out &&
	clone d && (cd d && git klineage import "$lineages/cuda-gdn-kkt" &&
	exits 1 git klineage sync --push origin >../out) &&
	says "given    refs/heads/klineage/lineage/cuda-gdn-kkt" out &&
	says "left     $gate: the remote has commits that are not in our ref" out &&
	test_must_fail git -C d rev-parse --verify -q klineage/lineage/cuda-topk/sm_90-12b611a &&
	(cd d && exits 0 git klineage sync origin) &&
	git -C d rev-parse --verify klineage/lineage/cuda-topk/sm_90-12b611a
'

test_expect_success 'another lineage of the same name is kept under the name of the remote' '
	clone e &&
	(cd e && git klineage import --name sm_90-12b611a "$lineages/cuda-gdn-cumsum" &&
	 mine=$(git rev-parse klineage/lineage/cuda-gdn-cumsum/sm_90-12b611a) &&
	 git update-ref refs/heads/klineage/lineage/cuda-topk/sm_90-12b611a $mine &&
	 git branch -q -D klineage/lineage/cuda-gdn-cumsum/sm_90-12b611a &&
	 git update-ref -d refs/klineage/rejected/cuda-gdn-cumsum/sm_90-12b611a &&
	 exits 1 git klineage sync origin >../out &&
	 test "$(git rev-parse klineage/lineage/cuda-topk/sm_90-12b611a)" = "$mine" &&
	 test "$(git rev-parse klineage/lineage/cuda-topk/sm_90-12b611a-origin)" = \
		"$(git -C ../hub.git rev-parse klineage/lineage/cuda-topk/sm_90-12b611a)") &&
	says "renamed  refs/heads/klineage/lineage/cuda-topk/sm_90-12b611a-origin" out &&
	says "renamed  refs/klineage/rejected/cuda-topk/sm_90-12b611a-origin" out &&
	says "another lineage of that name" out &&
	# once is enough, and theirs is not given back under its new name
	(cd e && exits 1 git klineage sync origin >../out) && ! grep -E "renamed|given" out &&
	! git -C hub.git for-each-ref | grep -- "-origin"
'

test_expect_success 'rejected steps that grew go both ways' '
	ref=refs/klineage/rejected/cuda-topk/sm_90-12b611a &&
	(cd a && old=$(git rev-parse $ref) && on=$(git rev-parse $ref^1) &&
	 git log -1 --format=%B $ref >../m &&
	 git update-ref $ref $(git commit-tree -p $on -p $old -F ../m $ref^{tree}) &&
	 git klineage sync origin >../out) && says "given    $ref" out &&
	(cd b && git klineage sync origin >../out) && says "moved    $ref" out &&
	test "$(git -C a rev-parse $ref)" = "$(git -C b rev-parse $ref)"
'

test_expect_success 'rejected steps do not carry away a history that the remote has not' '
	clone f &&
	(cd f && echo secret >s && git add s && git commit -q -m secret &&
	 printf "rejected: x\n\nKlineage-Action: untile\nKlineage-Direction: back\nKlineage-Step: 1\nKlineage-Class: slower\n" >../m &&
	 git update-ref refs/klineage/rejected/w/n $(git commit-tree -p HEAD -F ../m HEAD^{tree}) &&
	 exits 1 git klineage sync origin >../out) &&
	says "left     refs/klineage/rejected/w/n: 2 commits that the steps are based on are not known" out &&
	secret=$(git -C f rev-parse HEAD) &&
	test_must_fail git -C hub.git cat-file -e $secret &&
	(cd f && git push -q origin HEAD:refs/heads/f && git fetch -q origin && exits 0 git klineage sync origin >../out) &&
	says "given    refs/klineage/rejected/w/n" out
'

test_expect_success 'eight writers at once lose nothing' '
	git init -q --bare busy.git &&
	for i in 1 2 3 4 5 6 7 8; do
		git init -q w$i && git -C w$i remote add origin ../busy.git &&
		(cd w$i && git commit -q --allow-empty -m $i && event 10$i >ev1 && event 20$i >ev2 &&
		 git notes --ref klineage/gate add -F ev1 HEAD && git notes --ref klineage/gate append -F ev2 HEAD &&
		 git klineage import --name n$i "$lineages/cuda-gdn-cumsum" >/dev/null) || return 1
	done &&
	for i in 1 2 3 4 5 6 7 8; do ids w$i; done | sort -u >want && test "$(wc -l <want)" -ge 16 &&
	pids= &&
	for i in 1 2 3 4 5 6 7 8; do
		(cd w$i && git klineage sync --json origin >out 2>err) & pids="$pids $!"
	done &&
	for p in $pids; do wait $p || { cat w*/err; return 1; }; done &&
	ids busy.git >have && test_cmp want have &&
	git -C busy.git fsck --strict --no-dangling &&
	git -C busy.git for-each-ref refs/heads/klineage/lineage >out && test "$(wc -l <out)" -ge 1 &&
	git -C busy.git log --format=%H $gate >out && test "$(wc -l <out)" -ge 16 &&
	for i in 1 2 3 4 5 6 7 8; do
		(cd w$i && git klineage sync origin >/dev/null && git rev-parse $gate) || return 1
	done >tips && test "$(sort -u tips | wc -l)" = 1
'

# --- cards --------------------------------------------------------------------------

# an event in the form of a library, below <directory>/evidence; prints its id
evidence () {
	body="\"kind\":\"gate\",\"n\":$2,\"platform\":{\"id\":\"cpu/x86-64-v3\"},\"v\":1,\"verdict\":\"pass\"" && printf '{%s}' "$body" >line &&
	id=$(sha256sum line | cut -d ' ' -f 1) && xx=$(echo "$id" | cut -c 1-2) && mkdir -p "$1/evidence/$xx" &&
	printf '{"id":"%s",%s}\n' "$id" "$body" >"$1/evidence/$xx/$id.json" && echo "$id"
}

# a card with one transition, below <directory>: card <directory> <id> <number of the event> [<schema>]
card () {
	mkdir -p "$1/cards" && e=$(evidence "$1" "$3") && cat >"$1/cards/$2.yaml" <<-EOT
		schema: ${4:-1}
		id: $2
		status: hypothesis
		intent: An intent
		anchor:
		  construct: a loop
		carriers: []
		pre:
		  sound: []
		  useful: []
		effect:
		  kind: win
		  provides: []
		  rows: []
		evidence:
		  - lineage: w/n$3
		    step: 1
		    before: $(printf '%040d' "$3")
		    after: $(printf '%040d' "1$3")
		    rederived: null
		    derivation: inverse
		    origin: induced
		    language: c
		    platform: cpu/x86-64-v3
		    event: $e
		risk: []
		scope:
		  cases: []
		  languages: []
		  platforms:
		    needs: []
		  prior:
		    requires: []
		    provides: []
		    conflicts: []
		ver: []
	EOT
}

skills=refs/heads/klineage/skills

test_expect_success 'libraries are united card by card' '
	git init -q --bare lib.git &&
	for c in p q; do git init -q $c && git -C $c remote add origin ../lib.git || return 1; done &&
	card one both 1 && card one p-only 2 && card two both 3 && card two q-only 4 &&
	(cd p && git klineage skills import ../one && exits 0 git klineage sync origin >../out) && says "given    $skills" out &&
	(cd q && git klineage skills import ../two && exits 0 git klineage sync origin >../out) &&
	says "united   $skills: 1 new card, 1 changed" out && says "given    $skills" out &&
	(cd p && exits 0 git klineage sync origin >../out) && says "moved    $skills: 1 new card, 1 changed" out &&
	test "$(git -C p rev-parse $skills)" = "$(git -C q rev-parse $skills)" &&
	git -C q ls-tree -r --name-only $skills >out && for f in both p-only q-only; do says cards/$f.yaml out || return 1; done &&
	test "$(grep -c "^evidence/" out)" = 4 &&
	git -C q show $skills:cards/both.yaml >out && says "lineage: w/n1" out && says "lineage: w/n3" out &&
	git -C q log --format=%s $skills -- cards/both.yaml >out && test "$(wc -l <out)" -ge 2 &&
	(cd q && git klineage skills lint >../out && git klineage fsck >../out) && git -C q fsck --strict --no-dangling
'

test_expect_success 'who unites cards does not show in what comes of it' '
	for side in left right; do
		git clone -q --mirror lib.git lib-$side.git &&
		for c in p q; do
			git clone -q $c $c-$side && git -C $c-$side fetch -q ../$c $skills:$skills &&
			git -C $c-$side remote set-url origin ../lib-$side.git || return 1
		done
	done &&
	card three both 5 && card four both 6 &&
	for side in left right; do
		(cd p-$side && git klineage skills import ../three) && (cd q-$side && git klineage skills import ../four) || return 1
	done &&
	(cd p-left && git klineage sync origin) && (cd q-left && git klineage sync origin) &&
	(cd q-right && git klineage sync origin) && (cd p-right && git klineage sync origin) &&
	test "$(git -C lib-left.git rev-parse $skills^{tree})" = "$(git -C lib-right.git rev-parse $skills^{tree})"
'

test_expect_success 'what was measured does not go because theirs dropped it' '
	git clone -q --mirror lib.git drop.git && git -C p remote add drop ../drop.git &&
	(cd q && GIT_INDEX_FILE=$PWD/i git read-tree $skills && card x both 3 && git klineage skills lint --fix x/cards/both.yaml &&
	 GIT_INDEX_FILE=$PWD/i git update-index --cacheinfo 100644,$(git hash-object -w x/cards/both.yaml),cards/both.yaml &&
	 GIT_INDEX_FILE=$PWD/i git rm -q --cached cards/p-only.yaml &&
	 git push -q ../drop.git $(git commit-tree -p $skills -m drop $(GIT_INDEX_FILE=$PWD/i git write-tree)):$skills) &&
	(cd p && exits 0 git klineage sync drop >../out) && says "given    $skills" out &&
	git -C drop.git show $skills:cards/both.yaml >out && says "lineage: w/n1" out && says "lineage: w/n3" out &&
	git -C drop.git cat-file -e $skills:cards/p-only.yaml
'

# theirs <name> <path> <file>: a remote whose library is that of p, but for this file
theirs () {
	git clone -q --mirror lib.git "$1.git" && git -C p remote add "$1" "../$1.git" &&
	(cd q && export GIT_INDEX_FILE="$PWD/i" && git read-tree "$skills" &&
	 git update-index --add --cacheinfo "100644,$(git hash-object -w "$3"),$2" &&
	 tree=$(git write-tree) && bad=$(git commit-tree -p "$skills" -m bad "$tree") &&
	 git push -q "../$1.git" "$bad:$skills")
}

test_expect_success 'a library with a card that is none, or newer, or cites what is not there, is left whole' '
	git -C p rev-parse $skills >want && echo "schema: 1" >q/bad.yaml && card q/new later 7 3 && card q/gone alone 8 &&
	card q/forged forged 9 && f=$(ls q/forged/evidence/*/*) && sed "s/\"n\":9/\"n\":8/" <$f >q/event &&
	theirs r1 cards/bad.yaml bad.yaml && theirs r2 cards/later.yaml new/cards/later.yaml &&
	theirs r3 cards/alone.yaml gone/cards/alone.yaml && theirs r4 ${f#q/forged/} event &&
	git init -q --bare r5.git && git -C p remote add r5 ../r5.git &&
	(cd q && git push -q ../r5.git $(git commit-tree -m "no root" $skills^{tree}):$skills) &&
	for r in r1 r2 r3 r4 r5; do
		(cd p && git for-each-ref refs/heads >../before && exits 1 git klineage sync $r >../out.$r &&
		 git for-each-ref refs/heads >../after) && test_cmp before after &&
		git -C $r.git rev-parse $skills >>tips || return 1
	done &&
	says "left     $skills: cards/bad.yaml:1" out.r1 && says "left     $skills: cards/later.yaml" out.r2 &&
	says "card '\''alone'\'': event" out.r3 && says "is missing" out.r3 && says "left     $skills: evidence/" out.r4 &&
	says "not a skills library" out.r5
'

test_expect_success 'a branch of cards that somebody stands on is left where it is' '
	git clone -q --mirror lib.git stand.git && git -C q remote add stand ../stand.git && card five new 10 &&
	(cd q && git klineage skills import ../five && exits 0 git klineage sync stand) && git -C p remote add stand ../stand.git &&
	(cd p && git checkout -q klineage/skills && exits 1 git klineage sync stand >../out; git checkout -q --detach) &&
	says "checked out in a worktree" out && (cd p && exits 0 git klineage sync stand >../out) && says "united   $skills: 1 new card" out
'

# --- a remote that means no good -----------------------------------------------------

test_expect_success 'lines that are no events stay there, those of a later version come along' '
	git init -q --bare evil.git && clone g && git -C g remote add evil ../evil.git &&
	(cd g && event 1 >ev && git notes --ref klineage/gate add -F ev HEAD && git klineage sync evil) &&
	clone h && git -C h remote add evil ../evil.git &&
	later="{\"id\":\"$(printf later | sha256sum | cut -d " " -f 1)\",\"kind\":\"gate\",\"v\":2}" &&
	(cd h && git fetch -q evil $gate:$gate && sed "s/\"n\":1/\"n\":2/" <../g/ev >forged &&
	 { event 5; echo; cat forged; echo; echo garbage; echo "$later"; head -c 1100000 /dev/zero | tr "\\0" x; echo; } >note &&
	 git notes --ref klineage/gate add -F note HEAD && git push -q evil $gate) &&
	(cd g && exits 1 git klineage sync evil >../out) &&
	says "left     $gate: 3 invalid lines of the remote are ignored" out &&
	h=$(git -C h rev-parse HEAD) &&
	git -C g notes --ref klineage/gate show $h >out && test "$(wc -l <out)" = 2 && says "\"n\":5" out && says "\"v\":2" out &&
	# what was left is not given back, and theirs is not undone
	git -C evil.git merge-base --is-ancestor $(git -C h rev-parse $gate) $gate &&
	(cd g && exits 0 git klineage sync evil >../out) && says "nothing to exchange" out
'

test_expect_success 'a first fetch is no softer' '
	clone i && git -C i remote add evil ../evil.git && git -C evil.git update-ref $gate $(git -C h rev-parse $gate) &&
	(cd i && exits 1 git klineage sync --fetch evil >../out) &&
	says "3 invalid lines of the remote are ignored" out && ids i >have && test "$(wc -l <have)" = 3 &&
	test "$(git -C i rev-parse $gate^)" = "$(git -C h rev-parse $gate)"
'

test_expect_success 'a lineage that is none is left, and the rest is taken' '
	(cd h && git klineage import "$lineages/cuda-gdn-kkt" &&
	 ref=klineage/lineage/cuda-gdn-kkt/$(git for-each-ref --format="%(refname:lstrip=5)" refs/heads/klineage/lineage/cuda-gdn-kkt) &&
	 git push -q evil refs/heads/$ref &&
	 git commit -q --allow-empty -m "no step" && git push -q evil HEAD:refs/heads/klineage/lineage/w/plain &&
	 git push -q evil $ref:refs/heads/klineage/lineage/other/name &&
	 git push -q evil $ref~2:refs/heads/klineage/lineage/cuda-gdn-kkt/short &&
	 printf "../../x" >t && ln -s /etc/passwd l && git add l && tree=$(git write-tree) &&
	 git log -1 --format=%B $ref >m && bad=$(git commit-tree -p $ref~1 -F m $tree) &&
	 git push -q evil $bad:refs/heads/klineage/lineage/cuda-gdn-kkt/link &&
	 git push -q evil HEAD:refs/heads/klineage/lineage/deep/er/name) &&
	(cd i && exits 1 git klineage sync --fetch evil >../out) &&
	says "left     refs/heads/klineage/lineage/w/plain: invalid: " out &&
	says "left     refs/heads/klineage/lineage/other/name: invalid: the root of the lineage is of workload" out &&
	says "left     refs/heads/klineage/lineage/deep/er/name: not named" out &&
	says "cuda-gdn-kkt/link: invalid: '\''l'\'' in step 9 is not a regular file" out &&
	git -C i for-each-ref --format="%(refname)" refs/heads/klineage >have && test "$(wc -l <have)" = 2 &&
	grep -q cuda-gdn-kkt/short have && (cd i && git klineage fsck)
'

test_expect_success 'a tree that spells more notes than there are bytes is refused' '
	(cd h && blob=$(event 1 | git hash-object -w --stdin) &&
	 tree=$(for i in $(seq 0 255); do printf "100644 blob %s\t%02x\n" $blob $i; done | git mktree) &&
	 for d in 1 2 3; do
		tree=$(for i in $(seq 0 255); do printf "040000 tree %s\t%02x\n" $tree $i; done | git mktree) || return 1
	 done &&
	 git push -q -f evil $(git commit-tree -m bomb $tree):$gate) &&
	git -C i rev-parse $gate >want &&
	(cd i && exits 1 git klineage sync evil >../out) &&
	says "left     $gate: notes of the remote: notes tree has more than" out &&
	git -C i rev-parse $gate >have && test_cmp want have
'

test_expect_success 'a pack that is too long is refused, and nothing of it is used' '
	git init -q --bare big.git && clone j && git -C j remote add big ../big.git &&
	(cd h && head -c 3000000 /dev/urandom >f && git add f && tree=$(git write-tree) &&
	 git push -q ../big.git $(git commit-tree -m big $tree):$gate) &&
	(cd j && exits 128 git -c klineage.syncMaxMiB=1 -c fetch.unpackLimit=1 klineage sync big 2>../err) &&
	says "sends more than 1 MiB" err && says "hint: if you trust it" err &&
	git -C j for-each-ref refs/notes refs/klineage-remotes >out && test_must_fail test -s out
'

test_expect_success 'a remote that does not take it: its words, and nothing lost' '
	git init -q --bare closed.git && printf "#!/bin/sh\necho not on a Sunday\nexit 1\n" >closed.git/hooks/pre-receive &&
	chmod +x closed.git/hooks/pre-receive && git -C a remote add closed ../closed.git &&
	(cd a && git for-each-ref refs/heads refs/klineage refs/notes/klineage >../before &&
	 exits 128 git klineage sync closed 2>../err &&
	 git for-each-ref refs/heads refs/klineage refs/notes/klineage >../after) &&
	says "rejected" err && says "not on a Sunday" err && says "hint: nothing was pushed" err &&
	test_cmp before after &&
	git -C closed.git for-each-ref >out && test_must_fail test -s out
'

test_expect_success 'one that takes some refs and others not gets none' '
	git init -q --bare half.git && printf "#!/bin/sh\ncase \$1 in refs/heads/*) ;; *) exit 1;; esac\n" >half.git/hooks/update &&
	chmod +x half.git/hooks/update && git -C a remote add half ../half.git &&
	(cd a && exits 128 git klineage sync half 2>../err) && says "hook declined" err &&
	git -C half.git for-each-ref >out && test_must_fail test -s out
'

# restless: a hook that moves our notes whenever git-klineage prepares new ones
test_expect_success 'refs of ours that keep moving are not called a refusal of the remote' '
	clone restless && (cd restless && event 70 >ev && git notes --ref klineage/gate add -F ev HEAD) &&
	clone calm && (cd calm && event 71 >ev && git notes --ref klineage/gate add -F ev HEAD && git klineage sync origin >../out) &&
	cat >restless/.git/hooks/reference-transaction <<-\E &&
	#!/bin/sh
	test "$1" = committed && test -z "$MOVED" && grep -q " refs/klineage/tmp/" || exit 0
	MOVED=1 && export MOVED
	tip=$(git rev-parse refs/notes/klineage/gate)
	git update-ref refs/notes/klineage/gate "$(echo "again $$" | git commit-tree -p "$tip" "$tip^{tree}")"
	E
	chmod +x restless/.git/hooks/reference-transaction &&
	(cd restless && exits 128 git klineage sync origin 2>../err) && says "was changed in the meantime" err &&
	says "hint: another process keeps moving refs of this repository" err && says "nothing was pushed to it" err &&
	test_must_fail says "the changes fetched from it are kept" err
'

test_expect_success 'bad asking' '
	(cd a && exits 128 git klineage sync nowhere 2>../err) && says "no remote" err && says "configured: '\''origin'\''" err &&
	(cd a && exits 128 git klineage sync -- --upload-pack=x 2>../err) && says "no remote" err &&
	(cd a && exits 128 git klineage sync ../hub.git 2>../err) && says "no remote" err &&
	git -C a remote add gone ../gone.git && (cd a && exits 128 git klineage sync gone 2>../err) && says "gone" err &&
	(cd a && exits 129 git klineage sync 2>../err) && (cd a && exits 129 git klineage sync --push --fetch origin 2>../err) &&
	git init -q alone && (cd alone && exits 128 git klineage sync origin 2>../err) && says "git remote add origin" err
'

# --- set-up ------------------------------------------------------------------------------

test_expect_success '--setup shows what it writes, once, and --unsetup takes just that back' '
	clone k && (cd k && git config --add remote.origin.fetch "+refs/x/*:refs/y/*" && git config --list --local >../before &&
	 git klineage sync --setup --dry-run origin >../would && git config --list --local >../same && test_cmp ../before ../same &&
	 git klineage sync --setup origin >../out && git klineage sync --setup origin >../again &&
	 git config --get-all remote.origin.fetch >../fetch) &&
	says "fetch = +refs/notes/klineage/*:refs/notes/remotes/origin/klineage/*" out && says "--unsetup origin" out &&
	head -n 4 out | test_cmp would - && says "nothing to change" again && test "$(wc -l <fetch)" = 5 &&
	(cd k && git fetch -q && git for-each-ref refs/notes/remotes/origin refs/klineage-remotes/origin >../out) &&
	says "refs/notes/remotes/origin/klineage/gate" out && says "refs/klineage-remotes/origin/heads/lineage/cuda-topk" out &&
	test_must_fail git -C k rev-parse -q --verify $gate &&
	(cd k && git klineage sync --unsetup origin && git config --list --local >../after) && test_cmp before after
'

test_expect_success 'init offers it where there is a remote, until it is done' '
	clone n && echo "void k(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = x[i]; }" >n/k.c &&
	cp n/k.c n/l.c && (cd n && git klineage init k.c >../out) && says "git klineage sync --setup origin" out &&
	says "fetch = +refs/klineage/rejected/*:refs/klineage-remotes/origin/rejected/*" out &&
	(cd n && git klineage sync --setup origin && rm klineage.yaml oracle.c && git klineage init k.c >../out) && ! grep sync out &&
	(cd n && git klineage sync --unsetup origin && git klineage init --template c-topk >../out) && says "sync --setup origin" out
'

test_expect_success 'it says the same as JSON' '
	clone l && (cd l && git klineage sync --json origin >../out) && test "$(wc -l <out)" = 1 &&
	says "\"schema\":\"klineage.sync/1\"" out && says "{\"how\":\"taken\",\"ref\":\"$gate\",\"what\":" out && says "\"rounds\":1" out
'

# --- killed anywhere ------------------------------------------------------------------------

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
fi

test_expect_success FAULT 'killed or failing at any durable step, the next sync does it' '
	n=0 &&
	while n=$((n + 1)) && for how in kill fail; do
		rm -rf hub2.git m && git clone -q --mirror hub.git hub2.git && git init -q m &&
		git -C m remote add origin ../hub2.git &&
		(cd m && git commit -q --allow-empty -m m && event 77 >ev && git notes --ref klineage/gate add -F ev HEAD) &&
		rm -f log &&
		(cd m && PATH=$KLINEAGE_TOP/build-fault:$PATH KLINEAGE_FAULT=$n:$how KLINEAGE_FAULT_LOG=../log git-klineage sync origin) >out 2>&1
		(cd m && git klineage sync origin >../out 2>&1) || { cat out; return 1; }
		ids m >have && ids hub2.git >there && test_cmp have there && says "$(event 77 | cut -c 8-71)" have &&
		git -C m fsck --strict --no-dangling && test -z "$(find m/.git -name "*.lock" ! -name op.lock)" || return 1
	done && test "$(wc -l <log)" -ge $n; do :; done && test $n -ge 8
'

test_done
