#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage probe with a runner that judges elsewhere: all points of a wave in one bundle, its results in one import'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/rows.sh"
test -x "$KLINEAGE_TOP/build-fault/git-klineage" && test_set_prereq FAULT

# pair <directory>: a repository with a plain kernel and one that needs a multiple of 4 columns
pair () {
	git init -q "$1" && cd "$1" && git config klineage.runner bundle || return 1
	cat >klineage.yaml <<-X
	klineage: 1
	workload: scale
	case: {op: scale, dims: {m: 16, n: 64}}
	surface: {language: c, sources: [scale.c], entry: scale, flags: [-O2]}
	args:
	  - {name: m, kind: dim}
	  - {name: n, kind: dim}
	  - {name: x, kind: in, dtype: f32, shape: [m, n], fill: normal}
	  - {name: y, kind: out, dtype: f32, shape: [m, n]}
	domain: [m >= 1, n >= 4, n % 4 == 0]
	cases: [{dims: {m: 16, n: 64}, rank: hot}]
	also: [{m: 4, n: 8}, {m: 12, n: 40}]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: noise}
	floor: {bytes: none}
	X
	cat >oracle.c <<-X
	#include <stdint.h>
	#include "kl_oracle.h"

	void oracle(int64_t m, int64_t n, const kl_real *x, kl_real *y)
	{
		for (int64_t i = 0; i < m * n; i++)
			y[i] = x[i] * 3;
	}
	X
	kernel 1 "x[j] * 3" && commit plain && kernel 4 "x[j] * 3" && commit four
}
probe () { git klineage probe -q "$@"; }
grid='m=1..3; n=1..8,40; values=plain'
ref=refs/klineage/campaign/scale/probe
# carry <results>: let a worker judge the newest bundle of this repository
carry () {
	# shellcheck disable=SC2012 # the names are digests
	klineage-worker --bundle "$(ls -t .git/klineage/bundles/*.tar | head -n 1)" -o "$1" 2>../err || { cat ../err; return 1; }
}
# strip <file>: a document without what a run counts, and without events, whose ids have the time
strip () {
	perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); delete @$j{qw(judged kept)};
		for my $s (@{$j->{steps}}) { delete @$s{qw(judged kept)}; for my $c (@{$s->{clauses}}) { for my $e (qw(fail pass)) {
		delete $c->{$e}{$_}{event} for grep { $c->{$e} } qw(before after) } } } print JSON::PP->new->canonical->pretty->encode($j)' <"$1"
}
# events: those of the campaign
events () {
	git ls-tree -r --name-only $ref | while read -r f; do git cat-file blob "$ref:$f" | tail -n +2; done
}

test_expect_success 'all points of both kernels are one bundle: no finding, exit 125, and what to do' '
	(pair r && exits 125 probe HEAD~1 HEAD --grid "$grid" >../out 2>../err) && cat out err && says "nothing is known yet, because 54 results are to come from elsewhere" out &&
	! grep "not tested" out && says "54 jobs were written to" err && says "klineage-worker --bundle" err && says "gate --import" err &&
	test "$(ls r/.git/klineage/jobs | wc -l)" = 54 && test -z "$(git -C r for-each-ref refs/klineage refs/notes)"
'

test_expect_success 'the same question again is the same bundle' '
	ls r/.git/klineage/bundles >before && (cd r && exits 125 probe HEAD~1 HEAD --grid "$grid" --json >../json) && ls r/.git/klineage/bundles >after && test_cmp before after &&
	says "\"waiting\":54" json && says "\"judged\":0" json
'

test_expect_success 'the results are events of the campaign: not cached, not noted, no verdict on a commit' '
	(cd r && carry ../results && git klineage gate --import ../results >../out) && cat out && says "54 imported, 0 already known, 0 refused, 0 not judged" out && says "refs/klineage/campaign/scale/probe" out &&
	test -z "$(git -C r for-each-ref refs/notes)" && test "$(ls r/.git/klineage/cache)" = objects && (cd r && events | grep -c "\"kind\":\"probe\"" >../n && test "$(cat ../n)" = 54) &&
	(cd r && git klineage fsck >../out && says ": 0 errors, 0 warnings" ../out && git fsck --strict --no-dangling)
'

test_expect_success 'the findings are those of a probe on this machine' '
	(cd r && probe HEAD~1 HEAD --grid "$grid" --json >../there && probe HEAD~1 HEAD --grid "$grid" >../out) && cat out && says "witnessed     extent(cols) % 4 == 0" out && says "0 runs of the correctness stage, 54 results kept" out &&
	cp -R r here && git -C here update-ref -d $ref && git -C here config klineage.runner local && (cd here && probe HEAD~1 HEAD --grid "$grid" --json >../here.json) && says "\"judged\":54" here.json &&
	strip there >one && strip here.json >two && test_cmp one two
'

test_expect_success 'results that came once change nothing, and those of another clone are refused' '
	git -C r rev-parse $ref >before && (cd r && git klineage gate --import ../results >../out) && says "0 imported, 54 already known" out && git -C r rev-parse $ref >after && test_cmp before after &&
	(pair other && exits 128 git klineage gate --import ../results 2>../err) && says "sent no job" err && exits 1 git -C other rev-parse -q --verify $ref
'

test_expect_success 'results that were cut off: the lines that came are kept, and the others are asked again' '
	(pair cut && exits 125 probe HEAD~1 HEAD --grid "$grid" 2>../err && carry ../whole && head -n 21 ../whole >../part && exits 128 git klineage gate --import ../part 2>../err && says "cut off" ../err &&
	exits 125 probe HEAD~1 HEAD --grid "$grid" --json >../json && says "\"waiting\":34" ../json && says "\"kept\":20" ../json &&
	git klineage gate --import ../whole >../out && says "34 imported, 20 already known" ../out && probe HEAD~1 HEAD --grid "$grid" >../out && says "54 results kept" ../out)
'

test_expect_success 'where the oracle fails a point is not tested; where the worker fails it is asked again' '
	(pair blind && sed -i "s/i < m \* n/i < (m * n + 7) \/ 8 * 8/" oracle.c && commit oracle && kernel 2 "x[j] * 3" && commit two && exits 125 probe HEAD~1 HEAD --grid "m=1; n=4,5,8,12,16" >../out 2>../err && carry ../b &&
	reseal "\$j->{result} = {schema => q(klineage.result/1), status => q(cannot), message => q(klineage-worker was killed by signal 9)} if \$j->{result}{status} eq q(cannot) && !\$done++" ../b >../dies &&
	exits 125 git klineage gate --import ../dies >../out 2>../err && says "1 not judged" ../out && exits 125 probe HEAD~1 HEAD --grid "m=1; n=4,5,8,12,16" --json >../json && says "\"waiting\":1" ../json &&
	git klineage gate --import ../b && probe HEAD~1 HEAD --grid "m=1; n=4,5,8,12,16" >../out && cat ../out && says "3 points could not be judged" ../out && says "3: the oracle" ../out)
'

test_expect_success 'points between a pass and a failure are a wave of their own; over ssh all waves are one command' '
	mkdir fake && cat >fake/ssh <<-\EOF && chmod +x fake/ssh &&
	#!/bin/sh
	# -o BatchMode=yes -o ServerAliveInterval=30 <host> <program> ...
	echo wave >>"$FAKE_LOG"
	shift 5
	exec sh -c "$*"
	EOF
	FAKE_LOG=$PWD/log && export FAKE_LOG &&
	(pair large && kernel 1 "n < 37 ? x[j] * 3 : 0" && commit small && kernel 1 "x[j] * 3" && commit plain &&
	 PATH=$PWD/../fake:$PATH git -c klineage.runner=ssh:gpu klineage probe -q HEAD HEAD~1 --points 30 >../out) && cat out log && says "witnessed     extent(cols) <= 36" out && test "$(wc -l <log)" -gt 1 && test "$(wc -l <log)" -le 5
'

test_expect_success 'a runner that is away loses nothing' '
	(cd large && exits 125 git -c klineage.runner=ssh:nowhere.invalid klineage probe -q HEAD~2 HEAD 2>../err) && says "came back" err
'

test_expect_success 'steps of a lineage share their states: one bundle has each state at each point once' '
	git init -q shipped && (cd shipped && git commit -q --allow-empty -m root && git klineage import "$KLINEAGE_TOP/skills/lineages/c-topk" >../out && git config klineage.runner bundle &&
	steps=$(($(git rev-list --count --branches="klineage/*") - 1)) && exits 125 probe topk --grid "rows=1,2; cols=64; k=8; values=plain" >../out 2>../err && cat ../out ../err && says "$((2 * (steps + 1))) jobs were written" ../err)
'

test -e /dev/nvidiactl || { command -v nvcc >/dev/null && test_set_prereq NODEVICE; }
# what a worker with a GPU would write
pretend='$j->{device} = "GPU A"; $j->{driver} = "1"; $j->{result}{device} = "GPU A"; $j->{result}{driver} = "1"; delete $j->{result}{message};
	$j->{result}{status} = "pass"; $j->{result}{correct} = {cases => 1}'
test_expect_success NODEVICE 'device code: compiled here, and a worker without a GPU leaves all jobs pending' '
	git init -q gpu && (cd gpu && git config klineage.runner bundle && git commit -q --allow-empty -m root && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-gemm" >../out &&
	exits 125 probe cuda-gemm:1 --grid "M=256; N=256; K=64,72,80; values=plain" >../out 2>../err && says "6 jobs were written" ../err && carry ../none && exits 125 git klineage gate --import ../none >../out 2>../err && says "6 not judged" ../out && says "no GPU here" ../err &&
	exits 1 git rev-parse -q --verify refs/klineage/campaign/cuda-gemm/probe)
'

test_expect_success NODEVICE 'device code: what a worker with a GPU says is found, and belongs to that GPU' '
	(cd gpu && reseal "$pretend" ../none >../judged && git klineage gate --import ../judged >../out && says "6 imported" ../out && probe cuda-gemm:1 --grid "M=256; N=256; K=64,72,80; values=plain" >../out && cat ../out && says "sound at all 3 points" ../out &&
	git klineage fsck >../out && says ": 0 errors, 0 warnings" ../out &&
	reseal "$pretend; \$j->{device} = \$j->{result}{device} = q(GPU B)" ../none >../judged && git klineage gate --import ../judged >../out && says "6 imported" ../out && probe cuda-gemm:1 --grid "M=256; N=256; K=64,72,80; values=plain" --json >../json && says "\"kept\":6" ../json)
'

small="m=1; n=4,5; values=plain"
# again_until_done: the commands of a probe in waves, each once more; the seed is drawn before, so that the results fit
again_until_done () {
	exits 125 probe HEAD~1 HEAD --grid "$small" >../out 2>../err || test "$(git rev-parse -q --verify $ref)" || return 1
	git klineage gate --import ../small.results >../out && probe HEAD~1 HEAD --grid "$small" --json >../json && says "\"kept\":4" ../json && says "\"waiting\":0" ../json &&
	test "$(events | wc -l)" = 4 && test ! -e .git/klineage/campaign/scale/probe.jsonl && git klineage fsck >../out && says " 4 events" ../out && says ": 0 errors, 0 warnings" ../out
}
test_expect_success FAULT 'killed or failed at any durable step of sending and of importing, it loses nothing' '
	PATH=$KLINEAGE_TOP/build-fault:$PATH && export PATH && (pair base && probe HEAD~1 HEAD --seconds 0 >../out && cp -R . ../sent && cd ../sent && KLINEAGE_FAULT_LOG=$PWD/../points.base exits 125 git-klineage probe -q HEAD~1 HEAD --grid "$small" && carry ../small.results &&
	cp -R . ../got && cd ../got && KLINEAGE_FAULT_LOG=$PWD/../points.sent git-klineage gate --import ../small.results) && wc -l points.base points.sent &&
	for at in base sent; do last=$(wc -l <points.$at) && for way in kill fail; do for n in $(seq 1 5 $last) $last; do
		rm -rf torn && cp -R $at torn && (cd torn && if test $at = base; then (KLINEAGE_FAULT=$n:$way && export KLINEAGE_FAULT && exec git-klineage probe -q HEAD~1 HEAD --grid "$small" >/dev/null 2>&1)
		else (KLINEAGE_FAULT=$n:$way && export KLINEAGE_FAULT && exec git-klineage gate --import ../small.results >/dev/null 2>&1); fi; git fsck --strict --no-dangling >/dev/null && again_until_done) || { echo "$at $n:$way"; return 1; }
	done; done; done
'

test_done
