#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='which cards fit a kernel, and why'
. ./lib.sh

event=$(printf '%064d' 0 | tr 0 a)

# card <id> <case and dims> <dtype> <language> <platform> <result> <requires> <provides> <sound test>: one held-out trial
card () {
	case_=${2%% *} dims=${2#* }
	row='' ratio='class: slower'
	test "$6" = pass && ratio='ratio: 1.5' && row="
    - case: $case_
      dims: {$dims}
      dtype: $3
      language: $4
      platform: $5
      ratio: 1.5
      by: trial
      event: $event"
	sound='[]'
	test -z "$9" || sound="
    - id: must
      text: or it breaks
      test: $9
      state: assumed"
	cat <<-EOT
		schema: 1
		id: $1
		status: $(test "$6" = pass && echo admitted || echo hypothesis)
		intent: What $1 does
		anchor:
		  construct: a loop
		carriers: []
		pre:
		  sound: $sound
		  useful:
		    - id: big
		      text: it pays
		      test: K >= 4096
		      state: assumed
		effect:
		  kind: win
		  provides: [$8]
		  rows: ${row:-[]}
		evidence:
		  - lineage: w/n
		    step: ${#1}
		    before: $(printf '%040d' 1)
		    after: $(printf '%040d' 2)
		    rederived: null
		    derivation: inverse
		    origin: induced
		    language: c
		    platform: cpu/x86-64-v3
		    event: $(printf '%064d' 0 | tr 0 b)
		risk: []
		scope:
		  cases: [gemm]
		  languages: [c]
		  platforms:
		    needs: []
		  prior:
		    requires: [$7]
		    provides: [$8]
		    conflicts: []
		ver:
		  - trial: 1
		    level: other-workload
		    workload: other
		    case: $case_
		    dims: {$dims}
		    dtype: $3
		    language: $4
		    platform: $5
		    state: $(printf '%040d' 3)
		    result: $6
		    $ratio
		    event: $event
		    how: mechanical
		    isolated: true
	EOT
}

# library: the files in cards/ become the branch, by plain git
library () {
	GIT_INDEX_FILE=$PWD/.git/lib git read-tree --empty &&
	for f in "$@"; do
		GIT_INDEX_FILE=$PWD/.git/lib git update-index --add \
			--cacheinfo "100644,$(git hash-object -w "$f"),cards/${f##*/}" || return 1
	done &&
	git update-ref refs/heads/klineage/skills \
		"$(git commit-tree -m cards "$(GIT_INDEX_FILE=$PWD/.git/lib git write-tree)")"
}

gemm='gemm K: 1024, M: 1024, N: 1024'

test_expect_success 'set up: a kernel, and cards' '
	git klineage init --template c-sgemm r && cd r && mkdir ../cards &&
	card near "$gemm" f32 c cpu/x86-64-v3 pass "" near "" >../cards/near.yaml &&
	card conv "conv2d C: 64, F: 128, H: 56, N: 1, W: 56" f32 c cpu/x86-64-v3 pass "" "\"trait:conv\"" "" >../cards/conv.yaml &&
	card gpu "$gemm" bf16 cuda cuda/sm_90 pass "" gpu "" >../cards/gpu.yaml &&
	card stands-on "$gemm" f32 c cpu/x86-64-v3 pass near stands "" >../cards/stands-on.yaml &&
	card odd "$gemm" f32 c cpu/x86-64-v3 pass "" odd "N % 8 == 0" >../cards/odd.yaml &&
	card unknown "$gemm" f32 c cpu/x86-64-v3 pass "" un "trait('\''tiled'\'') && K >= 1" >../cards/unknown.yaml &&
	card failed "$gemm" f32 c cpu/x86-64-v3 fail "" failed "" >../cards/failed.yaml &&
	git klineage skills lint --fix ../cards/*.yaml && git klineage skills lint ../cards/*.yaml >../out && says "7 cards: 0 errors, 0 warnings" ../out && library ../cards/*.yaml
'

test_expect_success 'they come in order, each after what it requires; a false condition rules out' '
	exits 0 git klineage retrieve --order paper --platform cpu/x86-64-v3 sgemm >../out 2>../err &&
	says "sgemm: gemm f32 K=1024 M=1024 N=1024, in c on cpu/x86-64-v3" ../out &&
	sed -n "s/^[0-9][0-9]*  *\([a-z-]*\) .*/\1/p" ../out >../have &&
	printf "%s\n" near unknown conv stands-on gpu >../want && test_cmp ../want ../have &&
	says "after near" ../out && grep "^1  near  *admitted  0.667  1.000  1.000  *1.000  *1.000  *1/1  *-$" ../out &&
	says "w/n: step 3 gpu, step 4 conv, step 4 near, step 7 unknown, step 9 stands-on" ../out &&
	says "on this state to learn more facts" ../err
'

test_expect_success 'the same question has the same answer, from a new index, too' '
	git klineage retrieve --json --explain --platform cpu/x86-64-v3 >../a 2>/dev/null &&
	git klineage retrieve --json --explain --platform cpu/x86-64-v3 >../b 2>/dev/null && test_cmp ../a ../b &&
	find .git/klineage -name "skills-*.index" >../file && test "$(wc -l <../file)" = 1 &&
	echo damage >"$(cat ../file)" &&
	git klineage retrieve --json --explain --platform cpu/x86-64-v3 >../b 2>/dev/null && test_cmp ../a ../b &&
	rm "$(cat ../file)" && chmod a-w .git/klineage/cache &&
	git klineage retrieve --json --explain --platform cpu/x86-64-v3 >../b 2>/dev/null; chmod u+w .git/klineage/cache &&
	test_cmp ../a ../b
'

test_expect_success '--explain says every score and every condition' '
	git klineage retrieve --order paper --explain --platform cpu/x86-64-v3 >../out 2>/dev/null &&
	says "near: What near does" ../out &&
	says "score 0.667 = case 1.000*, language 1.000*, platform 1.000*, prior 1.000*; passed 1 of 1" ../out &&
	says "nearest point: conv2d f32 in c on cpu/x86-64-v3, 1.5 times the speed; operator 0.500, extents" ../out &&
	says "sound  unknown must: trait('\''tiled'\'') && K >= 1" ../out &&
	says "useful false   big: K >= 4096  [K = 1024]" ../out &&
	says "odd: not offered: the sound precondition '\''must'\'' is false" ../out && says "sound  false   must: N % 8 == 0  [N = " ../out
'

test_expect_success 'as JSON' '
	git klineage retrieve --json --platform cpu/x86-64-v3 >../out 2>/dev/null && test "$(wc -l <../out)" = 1 &&
	says "\"schema\":\"klineage.retrieve/1\"" ../out && says "\"looked_at\":6" ../out &&
	says "\"axes_ppm\":{\"case\":1000000,\"language\":1000000,\"platform\":1000000,\"prior\":500000}" ../out &&
	blob=$(git rev-parse klineage/skills:cards/near.yaml) && says "\"blob\":\"$blob\"" ../out
'

test_expect_success 'the limit is of cards that were looked for' '
	git klineage retrieve --limit 1 --platform cpu/x86-64-v3 >../out 2>/dev/null &&
	test "$(grep -c "^[0-9]" ../out)" = 1 &&
	git klineage retrieve --limit 3 --platform cpu/x86-64-v3 >../out 2>/dev/null && test "$(grep -c "^[0-9]" ../out)" = 3
'

test_expect_success 'another platform is another question' '
	git klineage retrieve --platform cuda/sm_90 >../out 2>/dev/null &&
	says "in c on cuda/sm_90" ../out && grep "gpu .* 0.200  *1.000" ../out
'

test_expect_success 'what was done before counts: a card that was used, and traits, from trailers' '
	file=$(git ls-files "*.c" | grep -v oracle) && echo "/* nearer */" >>"$file" &&
	git commit -q -a -m "use it" -m "Klineage-Skill: near@$(git rev-parse klineage/skills:cards/near.yaml)
Klineage-Trait: conv" &&
	git klineage retrieve --platform cpu/x86-64-v3 --explain >../out 2>/dev/null &&
	says "already present: near trait:conv" ../out && says "near: not offered: prior: the target already has what the card provides" ../out &&
	says "conv: not offered: prior: the target already has what the card provides" ../out && ! grep "after near" ../out &&
	git klineage retrieve --platform cpu/x86-64-v3 --repair >../out 2>/dev/null && grep "^[0-9]*  near " ../out &&
	git klineage retrieve --platform cpu/x86-64-v3 --rev HEAD~1 >../out 2>/dev/null && says "after near" ../out
'

test_expect_success 'so does what the gate measured' '
	git notes --ref klineage/gate list >/dev/null 2>&1; true &&
	git klineage gate --no-profile --json HEAD >../event 2>../err || { cat ../err; false; } &&
	git klineage retrieve >../out 2>../err && says "measured by event $(sed "s/.*\"id\":\"\([0-9a-f]\{12\}\).*/\1/" ../event)" ../out &&
	! grep "to learn more facts" ../err
'

test_expect_success 'hypotheses are offered to who asks for them' '
	git klineage retrieve --platform cpu/x86-64-v3 >../out 2>/dev/null && ! grep failed ../out &&
	exits 1 git klineage retrieve --platform cpu/x86-64-v3 --status hypothesis --explain >../out 2>/dev/null &&
	says "failed: not offered: none of the card'"'"'s rows is verified" ../out
'

test_expect_success 'by what came next: another language comes last, and --limit counts the cards that fit' '
	exits 0 git klineage retrieve --order next --platform cpu/x86-64-v3 --porcelain >../out 2>../err &&
	cut -f1 ../out >../have && printf "%s\n" gpu stands-on unknown >../want && sort ../have >../all && test_cmp ../want ../all &&
	test "$(sed -n "\$p" ../have)" = gpu && test "$(grep -c "	-*[0-9][0-9]*$" ../out)" = 3 &&
	git klineage retrieve --order next --platform cpu/x86-64-v3 --limit 1 --json >../one 2>../err &&
	grep "\"next_ppm\":-*[0-9]" ../one && test "$(grep -o "\"score_ppm\"" ../one | wc -l)" = 1 &&
	exits 129 git klineage retrieve --order newest 2>../err && says "use paper or next" ../err &&
	git klineage retrieve --order next --platform cpu/x86-64-v3 --json >../a 2>/dev/null &&
	git klineage retrieve --platform cpu/x86-64-v3 --json >../b 2>/dev/null && test_cmp ../a ../b && grep -q next_ppm ../a &&
	git klineage retrieve --order paper --platform cpu/x86-64-v3 --json >../b 2>/dev/null && test_must_fail grep next_ppm ../b
'

test_expect_success 'a library that grew is indexed anew; a card that cannot be read is told' '
	card later "$gemm" f32 c cpu/x86-64-v3 pass "" later "" >../cards/later.yaml && echo nonsense >../cards/bad.yaml &&
	library ../cards/*.yaml &&
	git klineage retrieve --platform cpu/x86-64-v3 >../out 2>../err && grep "^[0-9]*  later " ../out &&
	says "1 card cannot be read" ../err
'

test_expect_success 'nothing fits, nothing is there' '
	rm ../cards/bad.yaml && library ../cards/failed.yaml &&
	exits 1 git klineage retrieve --platform cpu/x86-64-v3 2>../err && says "none of 1 cards fits" ../err &&
	git update-ref -d refs/heads/klineage/skills &&
	exits 1 git klineage retrieve --platform cpu/x86-64-v3 2>../err && says "the library is empty" ../err &&
	exits 0 git klineage retrieve -h >/dev/null
'

test_expect_success 'bad asking' '
	exits 125 git klineage retrieve nonsense 2>../err &&
	exits 129 git klineage retrieve --status retracted 2>../err && says "invalid status" ../err &&
	exits 129 git klineage retrieve --status "" 2>../err &&
	exits 129 git klineage retrieve a b 2>../err && exits 129 git klineage retrieve --worktree --rev HEAD 2>../err &&
	exits 129 git klineage retrieve --limit -1 2>../err &&
	exits 128 git klineage retrieve --rev nowhere 2>../err &&
	git rm -q --cached "*.yaml" && git commit -q -m "no contract" && exits 125 git klineage retrieve 2>../err
'

test_done
