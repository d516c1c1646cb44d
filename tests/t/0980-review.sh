#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage review: what a range of commits means'
. ./lib.sh
. "$KLINEAGE_TOP"/tests/t/review.sh

top=$PWD

# finds <code> <text> <file>: the JSON of a review has a finding of that kind that must be answered
finds () {
	perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); my ($code, $text) = @ARGV;
		for my $f (@{$j->{findings}}, map { @{$_->{findings}} } map { @{$j->{$_}} } qw(contracts kernels commits cards)) {
			exit 0 if $f->{code} eq $code && $f->{answer} && index($f->{text}, $text) >= 0;
		}
		print STDERR "no $code with \"$text\"\n"; exit 1' "$1" "$2" <"$3"
}

# notes <code> <text> <file>: the same of a finding that need not be
notes () {
	perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); my ($code, $text) = @ARGV;
		for my $f (@{$j->{findings}}, map { @{$_->{findings}} } map { @{$j->{$_}} } qw(contracts kernels commits cards)) {
			exit 0 if $f->{code} eq $code && !$f->{answer} && index($f->{text}, $text) >= 0;
		}
		print STDERR "no note $code with \"$text\"\n"; exit 1' "$1" "$2" <"$3"
}

# on <branch> <command>: a change of the base, committed on a branch of its own; what review says of it is in ../out
on () {
	cd "$top/r" && git reset -q --hard && git clean -q -f -d && git checkout -q -B "$1" main && eval "$2" && git add -A && git commit -q --allow-empty -m "$1" &&
	{ git klineage review --json "main..$1" >../out; code=$?; }
}

# card_edit <sed script>: the card, changed and canonical
card_edit () {
	sed "$1" skills/cards/tile.yaml >new && mv new skills/cards/tile.yaml && git klineage skills lint --fix skills/cards >/dev/null
}

test_expect_success 'a repository with a judged kernel and a library' '
	base r && git klineage skills lint skills/cards
'

test_expect_success 'nothing changed: nothing to answer' '
	cd "$top/r" && git klineage review main..main >../out && says "0 commits, nothing to answer" ../out &&
	git checkout -q -b words && echo words >readme && git add readme && git commit -q -m words &&
	git klineage review main >../out && says "1 commit, nothing to answer" ../out && test "$(wc -l <../out)" = 1 &&
	git klineage review >../out2 && test_cmp ../out ../out2
'

# --- cards -----------------------------------------------------------------------

test_expect_success 'a precondition weakened, dropped, unknown' '
	on weaker "card_edit \"s/K % 32 == 0/K % 8 == 0/\"" && test $code = 1 &&
	finds pre-weakened "'\''align'\'' is weaker: '\''K % 8 == 0 && K >= 64'\'' (was" ../out &&
	on stronger "card_edit \"s/K >= 64/K >= 96/\"" && test $code = 0 && notes pre-stronger "is stricter" ../out &&
	on other "card_edit \"s/K >= 64/M >= 64/\"" && test $code = 1 && finds pre-changed "may hold where it did not" ../out &&
	on unknown "card_edit \"s/test: .*K.*/test: null/\"" && test $code = 1 && finds pre-unknown "no longer checked" ../out &&
	on dropped "card_edit \"/id: small/,/state:/d; s/^    - text/    x/\"" && test $code = 1 && finds pre-dropped "'\''small'\'' was dropped" ../out &&
	on assumed "card_edit \"s/state: witnessed/state: assumed/; /^      by: [0-9a-f]*$/d; /^      class: fault/d\"" &&
	test $code = 1 && finds pre-witness-gone "align" ../out &&
	on reworded "card_edit \"s/a tile fits the cache/anything goes/\"" && test $code = 1 && finds pre-changed "which nothing checks" ../out
'

test_expect_success 'scope, effect, provides' '
	on wider "card_edit \"s/cases: .gemm./cases: [attention, gemm]/\"" && finds scope-widened "case '\''attention'\''" ../out &&
	on languages "card_edit \"s/languages: .c./languages: [c, cuda]/\"" && finds scope-widened "language '\''cuda'\''" ../out &&
	on needs "card_edit \"s/needs: .avx2./needs: []/\"" && finds scope-widened "avx2" ../out &&
	on narrower "card_edit \"s/conflicts: .*/conflicts: [vec.512]/\"" && test $code = 0 && notes scope-narrowed "is now a conflict" ../out &&
	on raised "card_edit \"s/hi: 2.6/hi: 2.7/; s/^      ratio: 2.5/      ratio: 2.65/\"" && finds effect-raised "from 2.5x to 2.65x" ../out &&
	finds evidence "a row has ratio 2650000 ppm" ../out &&
	on promises "card_edit \"/effect:/,/rows:/s/provides: .*/provides: [vec.512, '\''trait:tiled'\'']/\"" && finds provides-added "vec.512" ../out
'

no_risk () { card_edit '/^risk:/,/events:/d; s/^scope:/risk: []\nscope:/'; }
no_trial () {
	sed "s/status: admitted/status: hypothesis/; s/by: trial/by: unverified/; s/event: $tried/event: $learned/; /^ver:/,\$d" \
		skills/cards/tile.yaml >new && echo "ver: []" >>new && mv new skills/cards/tile.yaml &&
		git klineage skills lint --fix skills/cards
}
no_file () { git rm -q "skills/evidence/$(echo "$witness" | cut -c1-2)/$witness.json"; }
test_expect_success 'evidence, risk, trials and the status that rests on them' '
	on risk no_risk && finds risk-removed "was removed" ../out &&
	on trial no_trial && test $code = 1 &&
	finds trial-removed "passed" ../out && finds status "lowered to hypothesis" ../out && finds effect-removed "2.5x" ../out &&
	finds effect-raised "cites no new event" ../out &&
	on evidence "card_edit \"s/step: 1/step: 2/\"" && finds evidence-rewritten "mm/v3-1'\'' step 1" ../out &&
	on file no_file && finds evidence-file-removed "$witness" ../out
'

retract () {
	printf '  - retracted: too slow\n    by: A U Thor <a@example.invalid>\n    time: 2026-01-03T00:00:00Z\n' >>skills/cards/tile.yaml &&
		card_edit 's/status: admitted/status: retracted/'
}
test_expect_success 'words that trials passed with, and a card that is gone' '
	on carrier "card_edit \"s/for each tile, for each k/whatever/\"" && finds carrier-edited "after admission" ../out &&
	on intent "card_edit \"s/keep a tile of both/keep both/\"" && finds edited-after-trials "keep both inputs" ../out &&
	on gone "git rm -q skills/cards/tile.yaml" && finds card-removed "the card was removed" ../out &&
	on retracted retract && test $code = 0 && notes retracted "too slow" ../out && notes status "retracted (was admitted)" ../out &&
	git checkout -q -B unretracted retracted && git checkout -q main skills/cards && git commit -q -m unretracted &&
	exits 1 git klineage review --json retracted..unretracted >../out && finds retraction-removed "too slow" ../out &&
	finds status "admitted again (was retracted)" ../out
'

test_expect_success 'a card that cites what is not there, or of another commit' '
	on missing "card_edit \"s/$witness/$(printf %064d 7)/\"" && finds evidence "the card cites event 000000000000" ../out &&
	on commit "card_edit \"s/after: .*/after: $(git rev-parse "$before")/; s/before: .*/before: $(git rev-parse main)/\"" &&
	finds evidence "is for other files than those of commit" ../out
'

test_expect_success 'a file that is no card' '
	on yaml "echo \"a: [\" >skills/cards/tile.yaml" && test $code = 1 && finds card-unreadable "tile.yaml:" ../out &&
	on name "cp skills/cards/tile.yaml skills/cards/other.yaml" && finds card-unreadable "contains the card" ../out &&
	on schema "card_edit \"s/zz/z/\" && sed \"s/schema: 1/schema: 3/\" skills/cards/tile.yaml >new && mv new skills/cards/tile.yaml" &&
	finds card-unreadable "schema 3" ../out &&
	on elsewhere "mkdir -p k8s/cards && echo \"kind: Pod\" >k8s/cards/pod.yaml" && test $code = 0
'

# --- kernels ------------------------------------------------------------------------

test_expect_success 'a kernel that nobody has judged' '
	on kernel "cp \$KLINEAGE_TOP/tests/cheats/c/accepted/kahan.c mm.c" && test $code = 1 &&
	finds verdict-missing "the kernel has not been judged" ../out
'

test_expect_success 'its verdict, its ratio to the base, features' '
	event kernel 2026-01-02T00:00:00Z "$(against "$(surface main)" 1300000 1280000 1320000 fast "\"avx2.fma\"")" >../event &&
	note kernel ../event && git klineage review --json main..kernel >../out && notes speed "1.3x [1.28, 1.32] against the base: fast" ../out &&
	notes feature-gained "avx2.fma" ../out && notes feature-lost "loop.depth.3, vec.256" ../out
'

test_expect_success 'from commit to commit the ratios are put together' '
	git checkout -q -B two kernel && cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/plain.c mm.c && git commit -q -a -m two &&
	event two 2026-01-02T00:01:00Z "$(against "$(surface kernel)" 500000 490000 510000 slow "")" >../event && note two ../event &&
	exits 1 git klineage review --json main..two >../out &&
	finds slower "0.65x [0.634, 0.666] against the base, from commit to commit: slow" ../out
'

test_expect_success 'what the gate calls the same is the same from commit to commit, too' '
	git checkout -q -B near main && echo "/* near */" >>mm.c && git commit -q -a -m near &&
	event near 2026-01-02T00:00:00Z "$(against "$(surface main)" 998000 997000 999000 same "")" >../event && note near ../event &&
	git checkout -q -B nearer near && echo "/* nearer */" >>mm.c && git commit -q -a -m nearer &&
	event nearer 2026-01-02T00:01:00Z "$(against "$(surface near)" 998000 997000 999000 same "")" >../event && note nearer ../event &&
	git klineage review --json main..nearer >../out &&
	notes speed "0.996x [0.995, 0.997] against the base, from commit to commit: same" ../out
'

test_expect_success 'a failure, a check alone, a verdict of other files' '
	on fails "cp \$KLINEAGE_TOP/tests/cheats/c/refused/zeros.c mm.c" &&
	event fails 2026-01-02T00:00:00Z "{\"verdict\":\"fail\",\"class\":\"wrong-all\",\"message\":\"C[0] is 0\"}" >../event && note fails ../event &&
	exits 1 git klineage review --json main..fails >../out && finds verdict-fail "'\''wrong-all'\'', '\''C[0] is 0'\''" ../out &&
	on checked "cp \$KLINEAGE_TOP/tests/cheats/c/accepted/recursion.c mm.c" &&
	event checked 2026-01-02T00:00:00Z "{\"kind\":\"check\"}" >../event && note checked ../event &&
	exits 1 git klineage review --json main..checked >../out && finds verdict-checked "only the quick stages" ../out &&
	on stale "cp \$KLINEAGE_TOP/tests/cheats/c/accepted/libm.c mm.c" && event main 2026-01-02T00:00:00Z "{}" >../event && note stale ../event &&
	exits 1 git klineage review --json main..stale >../out && finds verdict-stale "made for other files" ../out
'

test_expect_success 'a verdict under older rules of the gate counts no more' '
	on older "cp \$KLINEAGE_TOP/tests/cheats/c/accepted/mmx-with-emms.c mm.c" &&
	event older 2026-01-02T00:00:00Z "{\"policy\":1}" >../event && note older ../event &&
	exits 1 git klineage review --json main..older >../out && finds verdict-outdated "rules of the gate that have changed" ../out &&
	event older 2026-01-01T00:00:00Z "{}" >../event && note older ../event &&
	git klineage review --json main..older >../out && ! grep verdict-outdated ../out
'

test_expect_success 'a failure on the way that the head has mended is told, and needs no answer' '
	git checkout -q -B mended fails && cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/kahan.c mm.c && git commit -q -a -m mended &&
	git klineage review --json main..mended >../out && notes verdict-fail "wrong-all" ../out && notes speed "1.3x" ../out
'

test_expect_success 'a card in use whose precondition no longer holds' '
	git update-ref refs/heads/klineage/skills "$(git commit-tree -m cards main:skills)" &&
	on dims "sed \"s/K: 112/K: 128/; /M: [173]/d; s/^also:/also: []/\" klineage.yaml >new && mv new klineage.yaml" &&
	git checkout -q -B narrow dims && sed "s/K: 128/K: 112/" klineage.yaml >new && mv new klineage.yaml && git commit -q -a \
		-m "narrow" -m "Klineage-Direction: forward
Klineage-Skill: tile@0000000" &&
	exits 1 git klineage review --json dims..narrow >../out && finds card-violated "'\''tile'\'' is in use here and requires '\''align'\''" ../out &&
	git clone -q "$top/r" "$top/cards-of-origin" && cd "$top/cards-of-origin" &&
	exits 1 git klineage review --json origin/dims..origin/narrow >../out && finds card-violated "'\''tile'\'' is in use here" ../out
'

# --- contracts -----------------------------------------------------------------------

# contract <branch> <sed script>: the contract, changed
contract () { on "$1" "sed '$2' klineage.yaml >new && mv new klineage.yaml"; }

test_expect_success 'every weakening of a contract is told' '
	contract tolerance "s/max: 4/max: 8/" && finds tolerance-loosened "max 8 (was 4)" ../out &&
	contract rule "s/rule: noise, max: 4, rms: 2/rule: rel-l2, tol: 0.5/" && finds tolerance-changed "another rule" ../out &&
	contract also "/M: 33/d" && finds also-removed "M: 33, N: 65, K: 17" ../out &&
	contract exact "/^exact:/,/ints/d" && finds band-removed "exact" ../out &&
	contract tamer "s/shape: .M, K., fill: normal/shape: [M, K], fill: {normal: [0, 0.5]}/" && finds input-narrowed "A" ../out &&
	contract domain "s/N >= 1,/N >= 1, N % 8 == 0,/; /M: [173]/d; s/^also:/also: []/" && finds domain-narrowed "N % 8 == 0" ../out &&
	contract dims "s/dims: {M: 96/dims: {M: 32/" && finds dims-narrowed "M: 32" ../out &&
	contract loose "\$a deterministic: false" && finds determinism-dropped "same bits" ../out &&
	contract limits "s/call_s: 2/call_s: 60/" && finds limit-raised "60 (was 2)" ../out &&
	contract threads "s/flags: \[-O2\]/flags: [-O2], threads: 8/" && finds limit-raised "threads that a kernel may have: 8 (was 1)" ../out &&
	notes flag-added "compiled with" ../out &&
	contract zeroed "s/name: C, kind: out, dtype: f32/&, init: zeros/" && finds output-zeroed "C" ../out &&
	contract sweep "\$a sweep: [A]" && finds sweep-removed "B" ../out &&
	contract odd "\$a values: {nan: undefined}" && finds values-undefined "nan" ../out &&
	contract floor "\$a floor: {bytes: none}" && finds floor-lowered "bytes" ../out &&
	contract interface "s/name: M, kind: dim/name: M, kind: dim, dtype: i32/" && finds arg-changed "M" ../out &&
	contract renamed "s/workload: mm/workload: nn/" && finds workload-renamed "nn" ../out &&
	contract trapped "s/flags: .-O2./&, traps: [abort]/" && finds trap-added "now has '\''abort'\''" ../out &&
	on oracle "echo \"/* */\" >>oracle.c" && finds oracle-changed "oracle.c" ../out
'

test_expect_success 'what asks for more needs no answer of its own; the kernel must be judged again' '
	contract tighter "s/max: 4/max: 2/; s/ints: .-2, 2./ints: [-2, 2]/" && notes tolerance-tightened "max 2 (was 4)" ../out &&
	finds verdict-missing "not been judged" ../out && test "$(perl -MJSON::PP -e "print decode_json(scalar <STDIN>)->{answers}" <../out)" = 1 &&
	contract wider "s/ M <= 128,//" && notes domain-widened "M <= 128" ../out &&
	contract flagged "s/flags: .-O2./flags: [-O3], define: [A=1]/" && notes flag-added "compiled with '\''-O3'\''" ../out &&
	notes flag-removed "'\''-O2'\''" ../out && notes build-added "define of the surface now has '\''A=1'\''" ../out
'

test_expect_success 'a contract that is gone, broken, moved, new' '
	on gone "git rm -q klineage.yaml" && finds contract-removed "'\''mm'\'' is no longer judged" ../out &&
	on broken "echo \"klineage: [\" >klineage.yaml" && finds contract-broken "klineage.yaml:" ../out &&
	on moved "mkdir k && git mv klineage.yaml oracle.c mm.c k" && test $code = 0 && says "\"verdict\":\"pass\"" ../out &&
	on hidden "mkdir k && git mv klineage.yaml oracle.c mm.c k && sed \"s/max: 4/max: 9/\" k/klineage.yaml >new && mv new k/klineage.yaml" &&
	finds tolerance-loosened "max 9" ../out &&
	on new "mkdir k && cp klineage.yaml oracle.c mm.c k" && notes contract-added "no contract to compare it with" ../out
'

# --- the worked example ----------------------------------------------------------------

test_expect_success 'verdicts and trials that anybody can have written are shown as unsigned, and do not count where a signature is required' '
	cd "$top" && rm -rf worked && pull_request worked && exits 1 git klineage review main..topic >../out && says "'"'mm' in '.'"': pass, unsigned" ../out &&
	says "1 of 1 new events are unsigned and were not made by this clone" ../out &&
	exits 1 git klineage review --json main..topic >../out && says "\"word\":\"unsigned\"" ../out && says "\"code\":\"evidence-unsigned\"" ../out &&
	exits 1 git -c klineage.requireSigned=true klineage review main..topic >../out && says "'"'mm' in '.'"': unsigned" ../out && says "a note says that the kernel passed, but no allowed" ../out &&
	exits 1 git -c klineage.requireSigned=true klineage review --json main..topic >../out &&
	says "1 of 1 new events are not signed by an allowed signer (gpg.ssh.allowedSignersFile, klineage.signers)" ../out
'

test_expect_success 'a change of the signers or of a recipe is to be answered' '
	cd "$top" && git init -q rests && cd rests && mkdir -p .klineage .github/workflows sub && echo x >sub/.gitlab-ci.yml && git add . && git commit -q -m one &&
	for f in .klineage/allowed_signers .github/workflows/klineage.yml .github/workflows/klineage-report.yml .gitlab-ci.yml; do
		echo x >$f && git add $f && git commit -q -m change && exits 1 git klineage review HEAD^..HEAD >../out && says "was changed: '"'"'$f'"'"'" ../out || return 1
	done && echo y >sub/.gitlab-ci.yml && git commit -q -a -m other && git klineage review HEAD^..HEAD
'

test_expect_success 'docs/review.md shows the comment that review prints' '
	cd "$top" && rm -rf worked && pull_request worked && exits 1 git klineage review --format markdown main..topic >../printed &&
	sed -n "/^\`\`\`\`markdown\$/,/^\`\`\`\`\$/{ /^\`\`\`\`/d; p; }" "$KLINEAGE_TOP/docs/review.md" >../shown && test_cmp ../shown ../printed &&
	git log --reverse --format="	%s" main..topic >../subjects && test "$(wc -l <../subjects)" = 4 &&
	while read -r line; do says "	$line" "$KLINEAGE_TOP/docs/review.md" || return 1; done <../subjects
'

test_done
