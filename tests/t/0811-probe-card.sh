#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage probe --write: what a card'"'"'s step needs, measured and written into the card'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

contract_of_planes () {
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
	domain: ["m >= 4", "m % 4 == 0", "n >= 16", "n % 16 == 0"]
	cases: [{dims: {m: 16, n: 1024}, rank: hot}]
	also: [{m: 4, n: 16}, {m: 4, n: 48}]
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
			y[i] = (x[i]) $chain;
	}
	X
}
# rows <body of a loop over j in steps> <step>: a kernel that treats each row by itself
rows () {
	printf '#include <immintrin.h>\n#include <stdint.h>\n\nvoid scale(int64_t m, int64_t n, const float *x, float *y)\n{\n' >scale.c &&
	printf '\tfor (int64_t i = 0; i < m; i++, x += n, y += n)\n\t\tfor (int64_t j = 0; j + %s <= n; j += %s) {\n%s\n\t\t}\n}\n' "$2" "$2" "$1" >>scale.c
}
one="		y[j] = x[j] $chain;"
eight="		__m256 v = _mm256_loadu_ps(x + j);
$(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo '		v = _mm256_mul_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.5f)), _mm256_set1_ps(0.75f));'; done)
		_mm256_storeu_ps(y + j, v);"
card () { git show "klineage/skills:cards/$(the_card).yaml"; }
probe () { git klineage probe -q "$@"; }
# truth: that of the measured condition for the kernel in HEAD
truth () {
	git klineage retrieve --explain --json --status hypothesis scale | perl -MJSON::PP -e '
		my $j = decode_json(<STDIN>);
		for my $c (@{$j->{cards}}, @{$j->{dropped}}) { for (@{$c->{sound}}) { print $_->{truth}, "\n" if $_->{id} eq "probe-scale-c" } }'
}
grid='m=1..4,8; n=1..9,12,15,16,20,24,32,40'

test_expect_success 'a card whose conditions are those of the contract' '
	git init -q -b main cards && (cd cards && git config klineage.profileMs 1200 && contract_of_planes && rows "$one" 1 && commit one && rows "$eight" 8 && commit eight "$vector" &&
	git klineage deopt --rewriter history --name x && git klineage lift && test -n "$(the_card)" && card >before && says "(m % 4 == 0) && (n % 16 == 0)" before)
'

test_expect_success 'without --write the card is as before' '
	(cd cards && git rev-parse klineage/skills >tip && probe "$(the_card)" --grid "$grid" >out && cat out && says "scale/x:1" out && says "witnessed     extent(cols) % 8 == 0" out &&
	says "not needed    language != '"'c'"' || op != '"'scale'"' || (m % 4 == 0)  (card)" out && says "too strong    language != '"'c'"' || op != '"'scale'"' || (n % 16 == 0)  (card)" out && git rev-parse klineage/skills >now && test_cmp tip now)
'

# sum <member>: over all cards of the table
sum () { perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); my $n = 0; $n += $_->{$ARGV[0]} for @{$j->{cards}}; die unless $n == $j->{all}{$ARGV[0]}; print $n' "$1" <table; }

test_expect_success 'the table counts the clauses of all cards, from what is stored' '
	(cd cards && probe --table --seconds 30 --check 8 >out && cat out && says "too strong" out && says "1 cards" out && probe --table --seconds 0 --check 8 --json >table && cat table && test "$(sum steps)" = 1 && test "$(sum tested)" = 1 &&
	test "$(sum witnessed)" -ge 1 && test "$(sum stronger)" -ge 1 && test "$(sum drawn)" -ge 1 && test "$(sum drawn)" -ge "$(sum drawn_right)" && git init -q ../none && cd ../none && exits 128 probe --table 2>err && says "no cards" err && exits 129 probe --table x 2>err && exits 129 probe --table --dry-run)
'

test_expect_success 'with --write the measured clause comes with its failure, and what is not needed goes' '
	(cd cards && probe "$(the_card)" --grid "$grid" --write >out && cat out && says "the conditions were written" out && says "0 runs of the correctness stage" out && card >after && cat after &&
	says "(extent(cols) % 8 == 0)" after && ! grep "m % 4 == 0" after && ! grep "n % 16 == 0" after && says "state: witnessed" after && says "violates: probe-scale-c" after && says "measured:" after && says "bits: " after && git klineage skills show "$(the_card)" >page && says "measured: bits: " page &&
	id=$(sed -n "s/^ *by: \([0-9a-f]*\)$/\1/p" after | head -1) && git cat-file -p "klineage/skills:evidence/$(echo $id | cut -c1-2)/$id.json" >event && says "\"kind\":\"probe\"" event && says "\"verdict\":\"fail\"" event)
'

test_expect_success 'one commit, whose message has the pair; lint and fsck accept the card; again there is nothing to write' '
	(cd cards && test "$(git rev-parse klineage/skills~1)" = "$(cat tip)" && git log --format=%B -1 klineage/skills >message && cat message && says "probe: $(the_card), 1 witnessed, 2 not needed" message && says "passes at" message &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling &&
	probe "$(the_card)" --grid "$grid" --write >out && says "nothing to write" out && git klineage lift && card >again && test_cmp after again)
'

test_expect_success 'the condition is decided for a kernel whose operator nobody knows: true here, false where a row is ragged' '
	(cd cards && truth >../truth && test "$(cat ../truth)" = true && git checkout -q -b ragged && sed -i "/^domain/d; s/also: .*/also: [{m: 4, n: 9}]/" klineage.yaml &&
	rows "$one" 1 && git commit -q -a -m ragged && truth >../truth && test "$(cat ../truth)" = false && git checkout -q main)
'

test_expect_success 'time that is too short removes nothing' '
	(cp -R cards short && cd short && git update-ref refs/heads/klineage/skills "$(cat tip)" && rm .git/klineage/made && probe "$(the_card)" --seconds 0 --write >out && says "nothing to write" out && test "$(git rev-parse klineage/skills)" = "$(cat tip)")
'

test_expect_success '--write needs a card, and steps that are here' '
	(cd cards && exits 129 probe scale/x --write 2>err && says "is for a card" err && exits 129 probe "$(the_card)" --write -n 2>err &&
	git init -q ../bare && cd ../bare && git fetch -q ../cards klineage/skills:klineage/skills && exits 125 probe "$(git ls-tree --name-only klineage/skills cards/ | sed "s,cards/,,; s,.yaml,,")" 2>err && cat err && says "none of the 1 steps" err)
'

test_done
