#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage probe: where a step stops being right, measured with the real gate'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/rows.sh"
test -x "$KLINEAGE_TOP/build-fault/git-klineage" && test_set_prereq FAULT

# contract <domain>: a contract of two dims with an oracle that can judge every size
contract () {
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
	domain: [$1]
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
}
# pair <directory> <domain>: a repository with the plain kernel as its first commit
pair () { git init -q "$1" && cd "$1" && contract "$2" && kernel 1 'x[j] * 3' && commit plain; }
grid='m=1..4; n=1..13,15,16,20,24,40'
probe () { git klineage probe -q "$@"; }
# field <expression on $j> <file>: a value of the JSON document
field () { perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); my $s = $j->{steps}[0]; print eval $ARGV[0], "\n"; die $@ if $@' "$1" <"$2"; }
ref=refs/klineage/campaign/scale/probe
log=.git/klineage/campaign/scale/probe.jsonl
# events: those of all probes, in segments or still in the log
events () {
	if test -e $log; then cat $log; fi
	if git rev-parse -q --verify $ref >/dev/null; then
		git ls-tree -r --name-only $ref | while read -r f; do git cat-file blob "$ref:$f" | tail -n +2; done
	fi
}
stored () { events | wc -l; }
forget () { rm -rf .git/klineage/probe .git/klineage/campaign .git/klineage/made && git update-ref -d $ref; }

test_expect_success 'a kernel without a tail: the true condition, with its pair of points' '
	(pair tail "m >= 4, m % 4 == 0, n >= 8, n % 8 == 0" && kernel 4 "x[j] * 3" && commit four &&
	probe HEAD~1 HEAD --grid "$grid" --seconds 600 --json >out && probe HEAD~1 HEAD --grid "$grid" >text && cat text &&
	says "witnessed     extent(cols) % 4 == 0" text && says "true at the same points: pitch_bytes(x) % 16 == 0" text &&
	says "not needed    m % 4 == 0  (domain)" text && says "too strong    n % 8 == 0  (domain)" text && says "is enough" text && says "bits: the same answers as before at all" text &&
	says "$(field "\$s->{clauses}[0]{text}" out)" text && test "$(field "\$s->{clauses}[0]{state}" out)" = witnessed &&
	test "$(field "\$s->{clauses}[0]{fail}{dims}{n} % 4 != 0 && \$s->{clauses}[0]{pass}{dims}{n} % 4 == 0" out)" = 1 &&
	test "$(field "\$s->{unexplained}" out)" = 0 && test "$(field "\$s->{held} > 20 && \$s->{held} == \$s->{held_right}" out)" = 1)
'

test_expect_success 'points that no condition was fitted to are drawn, the same in every run, and predicted' '
	(cp -R tail drawn && cd drawn && probe HEAD~1 HEAD --grid "$grid" --check 24 --seconds 600 --json >out && test "$(field "\$s->{drawn}" out)" = 24 && test "$(field "\$s->{drawn_right}" out)" = 24 &&
	test "$(field "\$s->{drawn_fails} > 4 && \$s->{drawn_fails} < 20" out)" = 1 && test "$(field "\$s->{tested}" out)" = 72 && test "$(field "\$s->{clauses}[0]{text}" out)" = "extent(cols) % 4 == 0" &&
	probe HEAD~1 HEAD --grid "$grid" --check 24 >text && cat text && says "of 24 points that no condition was fitted to, 24 are predicted" text && says "0 runs of the correctness stage" text &&
	probe HEAD~1 HEAD --grid "m=1; n=4,5" --check 24 --seconds 600 >text && cat text && says "extent(cols) % 2 == 0" text && says "of 24 points that no condition was fitted to, 19 are predicted" text && exits 129 probe HEAD~1 HEAD --check -1 && exits 129 probe HEAD~1 HEAD --check 5000)
'

test_expect_success 'the pair cites events of kind probe, of both kernels at both points' '
	(cd tail && for end in fail pass; do for side in before after; do
		id=$(field "\$s->{clauses}[0]{$end}{$side}{event}" out) && events | grep "\"id\":\"$id\"" >line && says "\"kind\":\"probe\"" line &&
		says "\"n\":$(field "\$s->{clauses}[0]{$end}{dims}{n}" out)" line || exit 1
		if test $end$side = failafter; then says "\"verdict\":\"fail\"" line; else says "\"verdict\":\"pass\"" line; fi || exit 1
	done; done)
'

test_expect_success 'the second run judges nothing, and a probe is no verdict: no note, nothing for the gate' '
	(cd tail && says "0 runs of the correctness stage" text && ! git notes --ref=klineage/gate show HEAD && ! git for-each-ref | grep notes &&
	git klineage gate --no-profile >gate && says "scale: pass" gate && ! grep "judged before" gate && git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling)
'

test_expect_success 'another clone gets the events by sync, but judges for itself; a retracted event is judged again' '
	git init -q --bare hub.git && (cd tail && git remote add origin ../hub.git && git push -q origin HEAD && git klineage sync origin >../out) && git -C hub.git rev-parse -q --verify $ref &&
	git clone -q hub.git other && (cd other && git klineage sync origin && small="m=1..2; n=4,5" && test "$(stored)" = "$(cd ../tail && stored)" && git klineage fsck >out && says "0 errors, 0 warnings" out &&
	cp -R ../tail/.git/klineage/probe .git/klineage/ && probe HEAD~1 HEAD --grid "$small" >out && cat out && says "8 runs of the correctness stage, 0 results kept" out &&
	probe HEAD~1 HEAD --grid "$small" --json >out && says "\"judged\":0" out && id=$(field "\$s->{clauses}[0]{fail}{after}{event}" out) && git klineage gate --retract "$id" && probe HEAD~1 HEAD --grid "$small" >out && cat out &&
	says "1 run of the correctness stage, 7 results kept" out && git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling)
'

test_expect_success 'facts of a step: its bits, the same again, special values, what it needs' '
	(pair facts "m >= 1, n >= 1" && kernel 1 "x[j] * 0.7f + x[j] * 2.3f" && commit parts && for i in 1 2 3 4 5 6; do probe HEAD~1 HEAD --seconds 6 --json >out && test "$(field "\$s->{facts}{repeated}{after}{points}" out)" = 3 && break; done &&
	probe HEAD~1 HEAD --seconds 0 >text && cat text && says "repeated: the kernel gives the same bits again at all 3 points" text && says "repeated: the state before gives the same bits again at all 3 points" text && says "bits: other answers than before" text &&
	grep "^  nan: [a-z]*" text && says "vector registers: not spilled, as before" text && test "$(field "\$s->{facts}{values}{nan}{compared} > 0" out)" = 1 && test "$(events | grep -c "\"repeat\":1")" = 6)
'

grep -q avx2 /proc/cpuinfo && test_set_prereq AVX2
test_expect_success AVX2 'results on another platform are facts of the step: there it does not compile' '
	(pair wide "m >= 1, n >= 1" && printf "#include <immintrin.h>\n#include <stdint.h>\n\nvoid scale(int64_t m, int64_t n, const float *x, float *y)\n{\n\tint64_t i = 0;\n\n\tfor (; i + 8 <= m * n; i += 8)\n\t\t_mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), _mm256_set1_ps(3)));\n\tfor (; i < m * n; i++)\n\t\ty[i] = x[i] * 3;\n}\n" >scale.c && commit eight &&
	probe HEAD~1 HEAD --grid "m=4; n=8,9" --platform x86-64-v2 >out && cat out && says "fails at all 1 point where the state before passes" out && says "does not compile here" out && ! grep "no condition" out &&
	probe HEAD~1 HEAD --grid "m=4; n=8,9" --platform x86-64-v3 >out && cat out && says "sound at all 2 points" out && says "platform: on cpu/x86-64-v2 it fails at 1 of 1 point where the state before passes (compile; events " out &&
	probe HEAD~1 HEAD --grid "m=4; n=8,9" --platform x86-64-v2 --json >out && test "$(field "\$j->{judged}" out)" = 0 && test "$(field "\$s->{facts}{platforms}[0]{id}" out)" = cpu/x86-64-v3 && test "$(field "\$s->{facts}{platforms}[0]{fails}" out)" = 0 && git klineage fsck >out && says "0 errors, 0 warnings" out)
'

test_expect_success 'a step that loses denormals' '
	(pair denormal "m >= 1, n >= 1" && kernel 1 "fabsf(x[j]) < 0x1p-126f ? 0 : x[j] * 3" && commit flush &&
	probe HEAD~1 HEAD --grid "n=64,65,96,128; m=16,20,32; values=plain,denormal,nan" >out && cat out && says "witnessed     values != '"'denormal'"'" out && says "values = denormal (wrong-all)" out && says "denormal: wrong at " out)
'

test_expect_success 'a store of whole vectors needs an address that the gate always gives: the clause is about the address alone' '
	(pair aligned "m >= 4, m % 4 == 0, n >= 8, n % 8 == 0" && cat >scale.c <<-X && commit aligned &&
	#include <stdint.h>

	typedef float four __attribute__((vector_size(16)));

	void scale(int64_t m, int64_t n, const float *x, float *y)
	{
		int64_t i = 0;

		for (; i + 4 <= m * n; i += 4) {
			four v;

			__builtin_memcpy(&v, x + i, 16);
			*(four *)(y + i) = v * 3;
		}
		for (; i < m * n; i++)
			y[i] = x[i] * 3;
	}
	X
	git klineage gate --no-profile >gate && says "scale: pass" gate && probe HEAD~1 HEAD --grid "m=4,12; n=8,40; align(y)=4,8,16,32,64" >out && cat out && says "8 of 20 points fail" out &&
	says "witnessed     align(y) % 16 == 0" out && says "align(y) = 4 (fault)" out && says "passes at m = 4, n = 8, align(y) = 16" out && test "$(grep -c witnessed out)" = 1 &&
	events | grep "\"base\":\"y=8\"" | grep "\"class\":\"fault\"" && probe HEAD~1 HEAD --grid "m=4,12; n=8,40; align(x)=4,8,16,32,64" >out && cat out && says "sound at all 20 points" out &&
	probe HEAD~1 HEAD --grid "m=4,12; n=7,9,40" >out && cat out && ! grep "align(" out && probe -n --json HEAD~1 HEAD >out && says "\"base\":\"x=4\"" out && git klineage fsck >out && says "0 errors, 0 warnings" out)
'

test_expect_success 'a step that is sound everywhere, and one whose first kernel fails everywhere' '
	(pair sound "m >= 1, n >= 1" && kernel 1 "x[j] + 2 * x[j]" && commit sum && probe HEAD~1 HEAD --grid "m=1..3; n=1..8" >out && cat out && says "sound at all 24 points where the state before is" out && ! grep witnessed out &&
	says "bits: the same answers" out && kernel 1 "x[j] * 0.7f + x[j] * 2.3f" && commit parts && probe HEAD~1 HEAD --grid "m=4; n=8..12" >out && cat out && says "bits: other answers than before at" out &&
	kernel 1 "x[j] * 2" && commit wrong && kernel 1 "x[j] * 3" && commit right && probe HEAD~1 HEAD --grid "m=1..3; n=1..8" >out && cat out &&
	says "nothing is known, because the state before passes nowhere" out && says "24 points say nothing" out && says "the step repairs 24 of them" out)
'

test_expect_success 'where the oracle leaves its arrays a point is not tested, and the reason is given' '
	(pair blind "m >= 1, n >= 8" && sed -i "s/i < m \* n/i < (m * n + 7) \/ 8 * 8/" oracle.c && commit oracle && kernel 4 "x[j] * 3" && commit four &&
	probe HEAD~1 HEAD --grid "m=1; n=4,5,8,12,16" >out && cat out && says "3 points could not be judged" out && says "3: the oracle" out && says "sound at all 2 points" out)
'

test_expect_success 'time that is too short: what was judged is kept, and the next run goes on' '
	(pair short "m >= 1, n >= 1" && kernel 4 "x[j] * 3" && commit four &&
	for i in 1 2 3 4 5 6; do
		exits 0 git klineage probe -q HEAD~1 HEAD --seconds 2 >out && cat out && says "points are left; run the command again to go on" out || exit 1
		n=$(stored) && test "$n" -gt 2 && break
	done && test "$n" -gt 2 && probe HEAD~1 HEAD --seconds 0 >out && says "0 runs of the correctness stage, " out && test "$(stored)" = "$n")
'

test_expect_success 'a killed probe goes on, and judges no point twice' '
	(cp -R short killed && cd killed && forget && { setsid git-klineage probe -q HEAD~1 HEAD --grid "$grid" --seconds 600 >out & pid=$!; } &&
	for i in $(seq 100); do test "$(stored)" -gt 20 && break; sleep 0.1; done; pkill -KILL -s $pid; wait $pid; n=$(stored) && test "$n" -gt 20 && test "$n" -lt 144 &&
	! git rev-parse -q --verify $ref && git klineage fsck && printf "{\"event\":{\"ki" >>$log && probe HEAD~1 HEAD --grid "$grid" >out && cat out && says "extent(cols) % 4 == 0" out &&
	events | sed "s/.*\(\"point\":{[^}]*}[^}]*}\).*\(\"surface\":\"[0-9a-f]*\"\).*/\1 \2/" | sort >keys && test "$(wc -l <keys)" = 144 && sort -u keys >once && test_cmp keys once &&
	test ! -e $log && git klineage fsck >out && says "144 events" out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling)
'

# numbers <file>: how many results were made and kept
numbers () { sed -n "s/^\([0-9]*\) runs* of the correctness stage, \([0-9]*\) results* kept.*/\1 \2/p" "$1"; }

test_expect_success 'two probes at once share the work, and judge no point twice' '
	(cp -R short both && cd both && forget && for i in 1 2 3; do { probe HEAD~1 HEAD --grid "$grid" --seconds 600 >out$i & }; done && wait && cat out1 out2 out3 && for i in 1 2 3; do says "extent(cols) % 4 == 0" out$i && numbers out$i || exit 1; done >numbers &&
	grep -v says numbers | awk "{ made += \$1; if (\$1 + \$2 != 144) exit 1; busy += \$1 > 0 } END { exit made != 144 || busy < 2 }" && events | wc -l >n && test "$(cat n)" = 144 && git klineage fsck >out && says "144 events" out && says "0 errors, 0 warnings" out)
'

test_expect_success 'a dry run judges nothing; a grid of 10^9 points is cut, and that is said' '
	(cd short && forget && probe -n HEAD~1 HEAD >out && says "points would be judged" out && says "m = 4, n = 8" out && says "values = nan" out && test ! -e .git/klineage/probe && test "$(stored)" = 0 &&
	probe -n HEAD~1 HEAD --grid "m=1..1000; n=1..1000; values=plain" >out && says "4096 points would be judged" out && says "1000000 points are in the grid" out &&
	probe -n HEAD~1 HEAD --grid "m=1..100000; n=1..10000" >out && cat out && says "1000000000 points are in the grid" out)
'

test_expect_success 'bad input is refused by name' '
	(cd short && exits 129 probe HEAD~1 HEAD --grid "k=1" 2>err && says "no dim '"'k'"'" err && exits 129 probe HEAD~1 HEAD --grid "m=0" 2>err && says "from 1 on" err &&
	exits 129 probe HEAD~1 HEAD --grid "align(y)=2" 2>err && says "the bytes of an element" err && exits 129 probe HEAD~1 HEAD --grid "align(z)=4" 2>err && says "no dim" err &&
	exits 129 probe HEAD~1 HEAD --grid "align(x)=4; align(y)=4" 2>err && says "one tensor" err && exits 129 probe HEAD~1 HEAD --grid "m=1; m=2" 2>err && says "twice" err && exits 129 probe HEAD HEAD 2>err && says "the kernel is the same" err && exits 129 probe HEAD HEAD~1 x 2>err &&
	exits 128 probe HEAD~1 nothing 2>err && exits 128 probe nothing 2>err && says "no lineage and no card" err && exits 129 probe scale:x 2>err && says "number of a step" err &&
	exits 129 probe --points 4097 HEAD~1 HEAD 2>err && says "from 1 to 4096" err && exits 129 probe --seconds -1 HEAD~1 HEAD 2>err && says "from 0 to" err)
'

test -e /dev/nvidiactl || { command -v nvcc >/dev/null && test_set_prereq NODEVICE; }
test_expect_success NODEVICE 'without a GPU the clauses of the launch plan are told, and the exit status is 125' '
	git init -q gpu && (cd gpu && git commit -q --allow-empty -m root && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-gemm" && exits 125 git klineage probe -q cuda-gemm:1 --seconds 5 >out 2>err && cat out err &&
	says "K % 8 == 0  (launch plan)" out && says "nothing is known, because the gate cannot judge" out && says "no GPU here" err &&
	exits 125 git klineage probe -q cuda-gemm:3 --seconds 5 >out 2>err && cat out && says "not tested    smem_optin >= 55296  (compiled code)" out && says "registers: 234 a thread, before 32" out && says "shared memory: 55296 bytes a block, before 9216" out)
'

test_expect_success FAULT 'a fault at the write of a result loses nothing else' '
	(cd short && forget && PATH=$KLINEAGE_TOP/build-fault:$PATH && exits 128 env KLINEAGE_FAULT=5:fail git klineage probe -q HEAD~1 HEAD --grid "m=1..3; n=4,8" 2>err &&
	test "$(stored)" -ge 1 && probe HEAD~1 HEAD --grid "m=1..3; n=4,8" >out && says "sound at all 6" out)
'

test_expect_success FAULT 'killed or failed at any step of storing, it judges the rest, and leaves neither copies nor a log' '
	(cd short && PATH=$KLINEAGE_TOP/build-fault:$PATH && for way in kill fail; do for n in 2 5 9 15 20 22 24 26 27; do
		forget && { (KLINEAGE_FAULT=$n:$way && export KLINEAGE_FAULT && exec git-klineage probe -q HEAD~1 HEAD --grid "m=1..2; n=4") || :; } && had=$(events | sort -u | wc -l) && git klineage fsck >out && says "0 errors, 0 warnings" out &&
		probe HEAD~1 HEAD --grid "m=1..2; n=4" --json >out && test "$(field "\$j->{judged}" out)" = $((4 - had)) && test "$(stored)" = 4 && test ! -e $log && git klineage fsck >out && says " 4 events" out && says "0 errors, 0 warnings" out || { echo "$n:$way" && exit 1; }
	done; done)
'

test_done
