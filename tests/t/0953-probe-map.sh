#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage probe --map --dispatch: where one of two kernels is faster

Insertion sort is faster for few keys, counting sort for many. The machine may be busy: what is tested are the
factors that no noise hides, and that everything else follows from what was measured.'
. ./lib.sh

# points <file>: of each judged point n, the outcomes of both kernels and the speed
points () {
	perl -MJSON::PP -e '
		for my $p (@{decode_json(join "", <STDIN>)->{points}}) {
			print "$p->{dims}{n} $p->{a}{outcome} $p->{b}{outcome} ", $p->{speed} // "none", "\n";
		}' <"$1"
}

# number <member> <file>
number () {
	perl -MJSON::PP -e 'print decode_json(join "", <STDIN>)->{$ARGV[0]}' "$1" <"$2"
}

test_expect_success 'a kernel in two versions' '
	git init -q repo && (
		cd repo && git config klineage.profileMs 100 &&
		cat >klineage.yaml <<-\EOF &&
		klineage: 1
		workload: sort
		case: {op: sort, dims: {n: 1000}}
		surface: {language: c, sources: [sort.c], entry: sort_keys, flags: [-O2]}
		args:
		  - {name: n, kind: dim}
		  - {name: x, kind: in, dtype: i32, shape: [n], fill: {ints: [-512, 511]}}
		  - {name: y, kind: out, dtype: i32, shape: [n]}
		domain: [n >= 10, n <= 1000, n % 10 == 0]
		also: [{n: 10}, {n: 30}]
		oracle: {language: c, sources: [oracle.c], entry: oracle}
		accept: {rule: exact}
		limits: {arena_mib: 16, call_s: 2}
		EOF
		cat >oracle.c <<-\EOF &&
		#include <stdint.h>
		#include "kl_oracle.h"

		void oracle(int64_t n, const int32_t *x, int32_t *y)
		{
			for (int64_t i = 0; i < n; i++) {
				int64_t rank = 0;

				for (int64_t k = 0; k < n; k++)
					rank += x[k] < x[i] || (x[k] == x[i] && k < i);
				y[rank] = x[i];
			}
		}
		EOF
		cat >sort.c <<-\EOF &&
		#include <stdint.h>

		void sort_keys(int64_t n, const int32_t *x, int32_t *y)
		{
			for (int64_t i = 0; i < n; i++) {
				int64_t k = i;

				for (; k && y[k - 1] > x[i]; k--)
					y[k] = y[k - 1];
				y[k] = x[i];
			}
		}
		EOF
		git add . && git commit -q -m insertion &&
		cat >sort.c <<-\EOF &&
		#include <stdint.h>

		void sort_keys(int64_t n, const int32_t *x, int32_t *y)
		{
			int64_t count[1025] = { 0 };

			for (int64_t i = 0; i < n; i++)
				count[x[i] + 513]++;
			for (int i = 0; i < 1024; i++)
				count[i + 1] += count[i];
			for (int64_t i = 0; i < n; i++)
				y[count[x[i] + 512]++] = x[i];
		}
		EOF
		git commit -q -a -m counting
	)
'

test_expect_success 'a run that is killed goes on where it ended' '
	(cd repo && exec git-klineage probe --quiet --map ../killed.svg HEAD~1 HEAD >../out 2>../err) & pid=$! &&
	for i in $(seq 2400); do
		test -n "$(find repo/.git/klineage/when -name "*.jsonl" 2>/dev/null)" && break
		sleep 0.05
	done &&
	kill -9 $pid && { wait $pid; true; } && kept=$(find repo/.git/klineage/when -name "*.jsonl" | wc -l) && test "$kept" -ge 1 &&
	(cd repo && git klineage probe --json --seconds 600 --map ../map.svg --dispatch ../sort_keys_dispatch.h HEAD~1 HEAD >../json 2>../err) &&
	test "$(number kept json)" -ge "$kept" && test "$(number left json)" = 0 &&
	test "$(find repo/.git/klineage/when -name "*.jsonl" | wc -l)" = $(($(number kept json) + $(number made json)))
'

test_expect_success 'both kernels are correct at every point, and the factors are those of the algorithms' '
	points json >list && test "$(wc -l <list)" = 12 && ! grep -v " pass pass " list &&
	grep "^1000 pass pass fast" list && grep "^700 pass pass fast" list && ! grep "^10 .*fast" list
'

test_expect_success 'a second run judges nothing again, and says the same' '
	(cd repo && git klineage probe --json --seconds 0 --map ../again.svg HEAD~1 HEAD >../again 2>../err) && test "$(number made again)" = 0 &&
	points again >list2 && test_cmp list list2 && test_cmp map.svg again.svg &&
	(cd repo && git klineage probe --map ../again.svg --seconds 0 HEAD~1 HEAD >../out) && says "known from an earlier run" out && says "faster" out && says "L1" out
'

test_expect_success 'the events are probes, and no verdicts' '
	cat repo/.git/klineage/when/*/*.jsonl >events && test "$(grep -c "\"kind\":\"probe\"" events)" = "$(grep -c . events)" &&
	grep "\"point\":{\"dims\":{\"n\":1000}}" events && ! git -C repo rev-parse -q --verify refs/notes/klineage/gate &&
	test -z "$(find repo/.git/klineage/cache -name "*.json")"
'

test_expect_success 'the map is XML, says every factor, and fetches and runs nothing' '
	xmllint --noout --nonet map.svg && grep "class=\"cell faster\"" map.svg && says "n = 1000" map.svg && ! grep -i "script\|href\|url(" map.svg
'

test_expect_success 'the header compiles without warnings and chooses as measured' '
	bound=$(perl -MJSON::PP -e "my \$u = decode_json(join q(), <STDIN>)->{useful}; print \$u->{kind} eq q(bound) ? \$u->{bound} : 0" <json) &&
	cat >main.c <<-EOF &&
	#include <stdio.h>
	#define n 5
	#include "sort_keys_dispatch.h"
	int main(void)
	{
		printf("%d%d%d%d\\n", sort_keys_dispatch(10), sort_keys_dispatch(1000), sort_keys_dispatch(1010), sort_keys_dispatch(999));
		return 0;
	}
	EOF
	cc -std=c11 -Wall -Wextra -pedantic -Werror -o choose main.c && ./choose >out && cat out sort_keys_dispatch.h &&
	c++ -x c++ -std=c++11 -Wall -Wextra -pedantic -Werror -o choose main.c && ./choose >out2 && test_cmp out out2 &&
	if test "$bound" -gt 0; then echo 0100 >want; else echo 0000 >want; fi && test_cmp want out &&
	{ test "$bound" = 0 || says "n >= $bound" sort_keys_dispatch.h; } && grep "n=1000: faster [0-9.]*x \[[0-9., ]*\] [0-9a-f]\{16\} [0-9a-f]\{16\}" sort_keys_dispatch.h
'

test_expect_success 'a step of a lineage has the map of its two states, and the report shows it' '
	(cd repo && git klineage report none >../out 2>&1; git klineage deopt --keep-all --rewriter history --no-rederive --name x >../out 2>../err) &&
	(cd repo && git klineage probe --seconds 0 --json --map ../step.svg sort/x:1 >../step && git klineage report sort/x -o ../page.html) &&
	points step >list3 && test_cmp list list3 && says "\"b\":\"K_1 of sort/x\"" step &&
	says "K_0 to K_1: where it is faster" page.html && says "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"when\"" page.html &&
	test "$(grep -c "<td>L1</td><td>" page.html)" = 12
'

test_expect_success 'where a kernel fails, the map says so and the header does not choose it' '
	cd repo && git checkout -q -b broken && sed "\$ s/}/	if (n % 4)\n		y[0]++;\n}/" sort.c >x && mv x sort.c &&
	git commit -q -a -m broken && git klineage probe --quiet --json --seconds 600 --map ../broken.svg --dispatch ../broken.h HEAD~2 HEAD >../broken && cd .. &&
	points broken >list && grep "^10 pass fail none" list && grep "^1000 pass pass" list && says "(wrong-edge)" broken.svg &&
	! grep "^ \*  B .*: fails" broken.h && xmllint --noout broken.svg &&
	{
		printf "#include \"broken.h\"\nint main(void)\n{\n\treturn 0" &&
		sed -n "s/^\([0-9]*\) pass fail none$/ | sort_keys_dispatch(\1)/p" list && printf ";\n}\n"
	} >main.c && cat main.c && test "$(grep -c sort_keys_dispatch main.c)" = 5 && cc -std=c11 -Wall -Wextra -pedantic -Werror -o choose main.c && ./choose
'

# header <name> <size>...: what a header chooses there, a digit a size
header () { { printf "#include <stdio.h>\n#include \"%s\"\nint main(void)\n{\n" "$1" && shift && printf "\tputchar(48 + sort_keys_dispatch(%s));\n" "$@" && printf "\treturn 0;\n}\n"; } >main.c && cc -std=c11 -Wall -Wextra -pedantic -Werror -o choose main.c && ./choose; }

test_expect_success 'what a probe found is honoured, with its events, also between the points of the map' '
	(cd repo && says "was not probed" ../broken.h && git klineage probe -q HEAD~2 HEAD --seconds 600 --grid "n=10,20,30,40,50,60,70,80,100,104,106,110,120,130" >../out && cat ../out && says "% 4 == 0" ../out &&
	git klineage probe -q --seconds 0 --json --dispatch ../sound.h HEAD~2 HEAD >../json2 && cat ../sound.h) && says "B is right only where these hold" sound.h && grep "extent([a-z]*) % 4 == 0" sound.h && grep "fails at n = [0-9]*: events [0-9a-f]\{16\} [0-9a-f]\{16\}" sound.h &&
	id=$(sed -n "s/.*fails at n = .*: events [0-9a-f]* //p" sound.h) && git -C repo ls-tree -r --name-only refs/klineage/campaign/sort/probe | while read -r f; do git -C repo cat-file blob "refs/klineage/campaign/sort/probe:$f"; done | grep "\"id\":\"$id" >line && says "\"verdict\":\"fail\"" line &&
	test "$(header sound.h 10 30 50 610 990)" = 00000 && if grep "DISPATCH_B :\|return SORT_KEYS_DISPATCH_B" sound.h; then test "$(header sound.h 980 1000)" = 11; fi
'

test_expect_success 'a failure inside the domain that no size explains: the kernel is never chosen' '
	(cd repo && git checkout -q -b single main && sed "\$ s/}/	if (n == 370)\n		y[0]++;\n}/" sort.c >x && mv x sort.c && git commit -q -a -m single && git klineage probe -q HEAD~2 HEAD --seconds 600 --grid "n=350,360,370,380,390,400" >../out && cat ../out &&
	git klineage probe -q --seconds 0 --dispatch ../single.h HEAD~2 HEAD >../out) && cat out && says "always chooses A: B fails at n = 370, inside the domain" out && says "B fails at n = 370" single.h && test "$(header single.h 370 1000)" = 00
'

test_expect_success 'a dim has its role in the condition' '
	{ test "$bound" = 0 || grep "\"predicate\":\"extent([a-z]*) >= $bound\"" json; }
'

test_expect_success 'what cannot be compared is named' '
	cd repo && git checkout -q main &&
	exits 129 git klineage probe --map x HEAD HEAD 2>err && says "kernel is the same" err &&
	exits 129 git klineage probe --map x --grid n=1..4 HEAD~1 HEAD 2>err && says "a grid of their own" err &&
	exits 128 git klineage probe --map x none HEAD 2>err && says "none" err &&
	exits 128 git klineage probe --map no/such/x --seconds 0 HEAD~1 HEAD 2>err && says "no/such/x" err &&
	sed "s/n <= 1000/n <= 900/; s/n: 1000/n: 500/" klineage.yaml >x && mv x klineage.yaml && git commit -q -a -m narrower &&
	exits 129 git klineage probe --map x HEAD~2 HEAD 2>err && says "different contracts" err && says "same klineage.yaml" err &&
	sed "s/n <= 900/n == 500/; /also:/d" klineage.yaml >x && mv x klineage.yaml && git commit -q -a -m one &&
	git checkout -q -b fixed && git show HEAD~3:sort.c >sort.c && git commit -q -a -m slow &&
	exits 128 git klineage probe --map x HEAD~1 HEAD 2>err && says "no other sizes" err &&
	git config klineage.runner bundle && git checkout -q main~2 && exits 125 git klineage probe --map x HEAD~1 HEAD 2>err && says "bundle" err
'

test_done
