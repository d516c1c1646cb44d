#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='what cards assume is judged: kernels where a condition is false, with the real gate'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi
test -x "$KLINEAGE_TOP/build-fault/git-klineage" && test_set_prereq FAULT

# planes <domain>: a contract of two dims, and its oracle over `upto` elements
planes () {
	cat >klineage.yaml <<-X
	klineage: 1
	workload: scale
	case: {op: scale, dims: {m: 16, n: 1024}}
	surface: {language: c, sources: [scale.c], entry: scale, flags: [-O2]}
	args:
	  - {name: m, kind: dim}
	  - {name: n, kind: dim}
	  - {name: x, kind: in, dtype: f32, shape: [m, n], fill: normal}
	  - {name: y, kind: out, dtype: f32, shape: [m, n]}
	domain: [$1]
	cases: [{dims: {m: 16, n: 1024}, rank: hot}]
	also: [{m: 4, n: 8}, {m: 4, n: 40}, {m: 12, n: 1016}]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: noise}
	floor: {bytes: none}
	X
	cat >oracle.c <<-X
	#include <stdint.h>
	#include "kl_oracle.h"

	void oracle(int64_t m, int64_t n, const kl_real *x, kl_real *y)
	{
		for (int64_t i = 0; i < ${upto:-m * n}; i++)
			y[i] = (x[i]) $chain;
	}
	X
}
# kernel <body of a loop over i in steps> <step>
kernel () {
	printf '#include <immintrin.h>\n#include <stdint.h>\n\nvoid scale(int64_t m, int64_t n, const float *x, float *y)\n{\n' >scale.c &&
	printf '\tfor (int64_t i = 0; i < m * n; i += %s) {\n%s\n\t}\n}\n' "$2" "$1" >>scale.c
}
one="		y[i] = x[i] $chain;"
by_eight="		for (int k = 0; k < 8; k++)
			y[i + k] = x[i + k] $chain;"
eight="		__m256 v = _mm256_loadu_ps(x + i);
$(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo '		v = _mm256_mul_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.5f)), _mm256_set1_ps(0.75f));'; done)
		_mm256_storeu_ps(y + i, v);"

# learn <directory> <domain> <first kernel> <its step>: a repository with one card
learn () {
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 1200 && planes "$2" && kernel "$3" "$4" && commit one &&
	kernel "$eight" 8 && commit eight "$vector" && git klineage deopt --rewriter history --name x && git klineage lift && test -n "$(the_card)"
}
card () { git show "klineage/skills:cards/$(the_card).yaml"; }
# pre <id>: its lines
pre () { card | sed -n "/^    - id: $1\$/,/^    - id:\|^  useful/p" | sed '$d'; }
clean () { git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling; }
seek () { git klineage lift --witness -q "$@"; }
# kept <subject part>: the commit of the chain that has it
kept () { git log --format='%H %s' "refs/klineage/trials/$(the_card)" | sed -n "s/^\([0-9a-f]*\) .*$1.*/\1/p"; }

test_expect_success 'a card of a kernel that needs n % 8 by its code, m % 4 by its contract alone, and AVX2' '
	(learn base "m >= 4, m % 4 == 0, n >= 8, n % 8 == 0" "$one" 1 && pre domain-scale-c >pre && says "state: not-tested" pre && says "(m % 4 == 0) && (n % 8 == 0)" pre &&
	pre isa-c >pre && says "cap(" pre && says "state: assumed" pre)
'

test_expect_success 'a dry run says what would be judged, and writes nothing' '
	(cd base && git for-each-ref >before && seek -n >out && cat out && says "scale/x K_1 at m = 4, n = 9" out && says "scale/x K_1 for cpu/x86-64-v2" out &&
	says "0 gate runs" out && seek -n --json >json && says "\"schema\":\"klineage.witness/1\"" json && git for-each-ref >after && test_cmp before after)
'

test_expect_success 'the limit holds, and the next run goes on from there' '
	(cp -R base limit && cd limit && seek --runs 1 >out && cat out && says "1 gate run (the limit)" out && says "the limit of 1 gate runs" out &&
	pre domain-scale-c >pre && says "(n % 8 == 0)" pre && ! grep "m % 4" pre && says "state: not-tested" pre && seek >out && says "2 witnessed" out && clean)
'

test_expect_success 'where it is false the kernel fails and the one before does not: witnessed; what it does not need goes' '
	(cp -R base all && cd all && seek >out && cat out && says "n % 8 == 0: witnessed, fault" out && says "m % 4 == 0: not needed" out &&
	says "witnessed, compile; scale/x K_1 for cpu/x86-64-v2" out && pre domain-scale-c >pre && cat pre &&
	says "test: language != '"'c'"' || op != '"'scale'"' || (n % 8 == 0)" pre && says "state: witnessed" pre && says "class: fault" pre &&
	id=$(sed -n "s/^ *by: //p" pre) && git cat-file -p "klineage/skills:evidence/$(echo $id | cut -c1-2)/$id.json" >event && says "\"verdict\":\"fail\"" event && says "\"class\":\"fault\"" event &&
	says "\"point\":\"also3\"" event && pre isa-c >pre && says "state: witnessed" pre && says "class: compile" pre &&
	card | sed -n "/^risk/,/^scope/p" >risk && says "violates: domain-scale-c" risk && clean)
'

test_expect_success 'the failing commit has the wider contract and the event in its note, beside the one before, which passes' '
	(cd all && chain=refs/klineage/trials/$(the_card) && id=$(pre domain-scale-c | sed -n "s/^ *by: //p") &&
	git log --format=%H $chain >commits && for c in $(cat commits); do if git notes --ref klineage/gate show $c >note 2>/dev/null && grep -q "\"id\":\"$id\"" note; then echo $c; fi; done >found &&
	test "$(wc -l <found)" = 1 && c=$(cat found) && git show $c:klineage.yaml >wide && ! grep -F "n % 8" wide && says "m % 4 == 0" wide && says "n: 9" wide &&
	git diff --name-only $c^ $c >names && echo klineage.yaml >want && test_cmp want names && test "$(git rev-parse $c^)" = "$(git rev-parse klineage/lineage/scale/x)" &&
	git log --format=%B -1 $c >message && says "Klineage-Skill: $(the_card)@" message && says "Klineage-Class: fault" message &&
	for c in $(cat commits); do
		if test "$(git rev-parse -q --verify $c^)" = "$(git rev-parse klineage/lineage/scale/x~1)" && git show $c:klineage.yaml | cmp -s - wide; then git notes --ref klineage/gate show $c; fi
	done >control && says "\"verdict\":\"pass\"" control)
'

test_expect_success 'a clone that remembers nothing replays it: the wider contract on the same kernel fails, on the one before passes' '
	(cp -R all replay && cd replay && rm -r .git/klineage/cache && git checkout -q --detach "$(cat found)" && exits 1 git klineage gate --worktree --no-profile &&
	git show klineage/lineage/scale/x~1:scale.c >scale.c && git klineage gate --worktree --no-profile)
'

test_expect_success 'one commit for each condition, whose message has the events; nothing is left to ask' '
	(cd all && git log --format=%B -1 klineage/skills~1 >message && cat message && says "1 witnessed, 1 not needed" message && says "m % 4 == 0: not needed" message &&
	event=$(grep -A2 "m % 4" message | sed -n "s/^ *event //p") && git log --format=%H refs/klineage/trials/$(the_card) >commits && for c in $(cat commits); do git notes --ref klineage/gate show $c || :; done >notes 2>/dev/null &&
	grep "\"id\":\"$event\"" notes >one && says "\"verdict\":\"pass\"" one && git for-each-ref >before && seek >out && says "0 clauses of 0 conditions" out && says "0 gate runs" out &&
	git klineage lift && git for-each-ref >after && test_cmp before after)
'

test_expect_success 'what the kernel before the step needs as well is not the step'"'"'s need' '
	(learn inherited "m >= 4, n >= 8, n % 8 == 0" "$by_eight" 8 && git for-each-ref refs/heads >before && seek >out && cat out && says "the state before the step also fails where the clause is false" out &&
	pre domain-scale-c >pre && says "state: not-tested" pre && clean)
'

test_expect_success 'where the oracle does not stand there is no witness; nothing judged at all is 125' '
	(upto="m * n / 8 * 8" && learn blind "m >= 4, n >= 8, n % 8 == 0" "$one" 1 && seek --json >out && cat out && pre domain-scale-c >pre && says "state: not-tested" pre && clean) &&
	(cp -R base nowhere && cd nowhere && git for-each-ref >before && exits 125 git -c klineage.runner=ssh:nowhere.invalid klineage lift --witness -q 2>err && cat err && says "came back" err &&
	git for-each-ref >after && test_cmp before after)
'

# carry: let a worker judge the newest bundle, and import the results
carry () {
	# shellcheck disable=SC2012 # the names are digests
	klineage-worker --bundle "$(ls -t .git/klineage/bundles/*.tar | head -n 1)" -o ../results 2>../err &&
	git klineage gate --import ../results >../out && rm ../results
}
test_expect_success 'judged elsewhere: kernels of all conditions and platforms are one bundle, what they decide is the next; the card is as after a run here' '
	(cp -R base elsewhere && cd elsewhere && git config klineage.runner bundle && git for-each-ref >before && exits 125 seek >out 2>err && cat out err && says "n % 8 == 0: open: a verdict is to come from elsewhere" out && ! grep "not needed;" out &&
	says "4 jobs were written to" err && git for-each-ref >after && test_cmp before after && exits 125 seek --json >json && says "\"waiting\":" json && test "$(ls .git/klineage/bundles | wc -l)" = 1 &&
	carry && for i in 1 2 3; do seek >out 2>err; rc=$?; test $rc = 125 || break; carry || return 1; done && cat out err && test $rc = 0 &&
	card | sed "s/[0-9a-f]\{64\}/X/" >have && (cd ../all && card | sed "s/[0-9a-f]\{64\}/X/") >want && test_cmp want have && clean)
'

test_expect_success 'a card that is named, one that is not there, options that do not go together' '
	(cp -R base named && cd named && exits 128 git klineage lift --witness nobody-1234567 2>err && cat err && exits 129 git klineage lift --witness --words chat 2>err &&
	exits 129 git klineage lift --runs 3 2>err && exits 129 git klineage lift --witness --runs -1 2>err && seek "$(the_card)" -n >out && says "2 conditions" out &&
	seek -n --json >out && perl -MJSON::PP -e "
		for my \$c (@{decode_json(<STDIN>)->{conditions}}) {
			print join(qq(\t), @\$c{qw(card condition)}, @\$_{qw(text end)}), qq(\n) for @{\$c->{clauses}} }" <out >want &&
	seek -n --porcelain >lines 2>err && cut -f1-4 lines >have && test_cmp want have && grep "open$" have)
'

test_expect_success 'a retracted card is left' '
	(cp -R base gone && cd gone && git klineage skills retract --reason wrong "$(the_card)" && seek >out && says "0 clauses" out)
'

# learn_block <workload> <BLOCK>: into the repository one stands in; a kernel by blocks, which is right for blocks of 16 alone
learn_block () {
	mkdir "$1" && (cd "$1" && planes "m >= 4, n >= 16, n % 16 == 0" && sed -i "s/^workload: scale/workload: $1/; s/{m: 4, n: 8}/{m: 4, n: 16}/; s/n: 40}/n: 48}/; s/n: 1016}/n: 1008}/" klineage.yaml &&
	kernel "$one" 1 && sed -i "2s/^/#define BLOCK $2\n/" scale.c && commit "$1: one") || return 1
}
by_blocks="		for (int k = 0; k < 2; k++) {
			__m256 v = _mm256_loadu_ps(x + i + 8 * k);
$(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo '			v = _mm256_mul_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.5f)), _mm256_set1_ps(0.75f));'; done)
			_mm256_storeu_ps(y + i + 8 * k, v);
		}"
# assume <id> <test>: the first condition of the card is about that, by hand
assume () {
	card >had && { sed -n "1,/^  sound:/p" had && printf '    - id: %s\n      text: told by a reader\n      test: %s\n      state: assumed\n' "$1" "$2" && sed "1,/^  sound:/d" had; } >has &&
	put_card "$(the_card)" has
}

test_expect_success 'a card of a kernel by blocks of 16; another kernel has blocks of 8' '
	(git init -q -b main blocks && cd blocks && git config klineage.profileMs 1200 && learn_block wide 16 && learn_block narrow 8 &&
	(cd wide && kernel "$by_blocks" BLOCK && sed -i "2s/^/#define BLOCK 16\n/" scale.c && commit "wide: blocks" "$vector") &&
	(cd narrow && kernel "$eight" BLOCK && sed -i "2s/^/#define BLOCK 8\n/" scale.c && commit "narrow: eights" "$vector") &&
	git klineage deopt --rewriter history --name x wide && git klineage deopt --rewriter history --name x narrow && git klineage lift wide/x)
'

test_expect_success 'its carrier on a state where the clause is false brings the mechanism and fails: witnessed' '
	(cp -R blocks carried && cd carried && assume block "BLOCK >= 16" && seek -n >out && cat out && says "narrow/x K_0, by the carrier" out &&
	seek >out && cat out && says "BLOCK >= 16: witnessed, fault; narrow/x K_0, by the carrier" out && pre block >pre && says "class: fault" pre && clean &&
	id=$(sed -n "s/^ *by: //p" pre) && for c in $(git log --format=%H refs/klineage/trials/$(the_card)); do git notes --ref klineage/gate show $c || :; done >notes 2>/dev/null && says "$id" notes)
'

test_expect_success 'right on one such state and wrong on another says nothing; where it is right on all of them the clause goes' '
	(cp -R blocks told && cd told && was=$(git rev-parse klineage/skills) && assume asks "has('"'vec.256'"') && n >= 1" && seek >out && cat out && says "passes on one state where the clause is false, and fails on another" out &&
	pre asks >pre && says "vec.256" pre && git update-ref refs/heads/klineage/skills $was && assume asks "has('"'vec.256'"') && n >= 1" && git update-ref -d refs/heads/klineage/lineage/narrow/x &&
	seek >out && cat out && says "has('"'vec.256'"'): not needed; wide/x K_0, by the carrier" out && pre asks >pre && says "test: (n >= 1)" pre && says "state: assumed" pre && clean)
'

test_expect_success 'a clause stays while a kernel that the card was learned from is not here' '
	(cp -R blocks part && cd part && git klineage lift narrow/x && test "$(card | grep -c "^  - lineage:")" = 2 && assume asks "has('"'vec.256'"') && n >= 1" &&
	git update-ref -d refs/heads/klineage/lineage/narrow/x && seek >out && cat out && says "not all kernels that the card was learned from are here" out && pre asks >pre && says "vec.256" pre)
'

test_expect_success 'a trial that failed where it is false is at hand: no gate run' '
	(cp -R blocks hand && cd hand && exits 1 git klineage admit -q "$(the_card)" && card >has && says "class: fault" has && assume block "BLOCK >= 16" &&
	seek >out && cat out && says "BLOCK >= 16: witnessed, fault; narrow, in an earlier attempt" out && event=$(card | sed -n "/^ver:/,\$s/^ *event: //p") && pre block >pre && says "by: $event" pre && clean)
'

test_expect_success FAULT 'killed at every durable step: nothing is lost, the next run ends the same' '
	(cp -R base primed && cd primed && seek && card >../want && git log --format=%T refs/klineage/trials/* | sort >../trees) &&
	(PATH=$KLINEAGE_TOP/build-fault:$PATH && n=1 && while :; do
		rm -rf killed && cp -R base killed && cp -R primed/.git/klineage/cache killed/.git/klineage/ && cd killed || exit 1
		KLINEAGE_FAULT=$n:kill git klineage lift --witness -q >out 2>err
		rc=$?
		git fsck --strict --no-dangling && git klineage fsck >fsck && says ": 0 errors" fsck || exit 1
		test $rc = 0 && break
		test $rc = 137 && git klineage lift --witness -q && card >../got && cmp ../want ../got || exit 1
		git log --format=%T refs/klineage/trials/* | sort | cmp - ../trees || exit 1
		cd .. && n=$((n + 1))
	done && echo "$n points" && test $n -gt 10)
'

test_done
