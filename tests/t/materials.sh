# SPDX-License-Identifier: Apache-2.0
# materials.sh - kernels for tests of cards: two experts with lineages, and targets for a card. Source this file.

# again <command...>: repeat a command that exits with 1 or 125, since noise can hide a speedup; it never fakes one
again () {
	for i in 1 2 3 4 5 6; do
		"$@"
		rc=$?
		test $rc = 1 || test $rc = 125 || return $rc
	done
	return 1
}

# enough arithmetic that the vector version is much faster even on a busy machine
long_chain () {
	printf '* 1.5f * 0.75f %.0s' 1 2 3 4 5 6 7 8 9 10 11 12
}
chain=$(long_chain)

# contract <directory> <workload> <file> <element> [<operator>]: write a contract for the source <file>, and its oracle
contract () {
	cat >"$1/klineage.yaml" <<-X
	klineage: 1
	workload: $2
	case: {op: ${5:-scale}, dims: {n: 16384}}
	surface: {language: c, sources: [$3], entry: $2, flags: [-O2]}
	args:
	  - {name: n, kind: dim}
	  - {name: x, kind: in, dtype: f32, shape: [n], fill: normal}
	  - {name: y, kind: out, dtype: f32, shape: [n]}
	domain: [n >= 1]
	cases: [{dims: {n: 16384}, rank: hot}]
	also: [{n: 1}, {n: 7}, {n: 1021}]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: noise}
	floor: {bytes: none}
	X
	cat >"$1/oracle.c" <<-X
	#include <stdint.h>
	#include "kl_oracle.h"

	void oracle(int64_t n, const kl_real *x, kl_real *y)
	{
		for (int64_t i = 0; i < n; i++) {
			kl_real v = x[i];

			y[i] = $4;
		}
	}
	X
}

# plain <file> <function> <element> <line>: write a kernel that computes one element at a time, with an extra line at the top
# wide <the same>: write a kernel that computes eight at a time, then the rest
plain () {
	cat >"$1" <<X
#include <stdint.h>

$4
#define ELEMENT(v) ($3)

void $2(int64_t n, const float *x, float *y)
{
	int64_t i = 0;

	for (; i < n; i++)
		y[i] = ELEMENT(x[i]);
}
X
}
wide () {
	plain "$@"
	cat >>"$1".new <<X
	typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

	for (; i + 8 <= n; i += 8)
		*(eight *)(y + i) = ELEMENT(*(const eight *)(x + i));
X
	sed -i "/int64_t i = 0;/r $1.new" "$1" && rm "$1.new"
}
commit () { git add -A && git commit -q -m "$1" -m "${2:-}"; }
vector='Klineage-Action: devectorize
Klineage-Mechanism: vector-loop'

# other_code: print what makes most lines of a kernel differ from those of another, so that it is not the same code for a trial
other_code () {
	cat <<-X
	/* what a caller may want besides the kernel */
	struct bounds { float low, high; };
	static inline float least(float a, float b) { return a < b ? a : b; }
	static inline float most(float a, float b) { return a > b ? a : b; }
	static inline struct bounds widen(struct bounds b, float v)
	{
		b.low = least(b.low, v);
		b.high = most(b.high, v);
		return b;
	}
	static inline int inside(struct bounds b, float v)
	{
		if (v < b.low)
			return -1;
		if (v > b.high)
			return 1;
		return 0;
	}
	static inline float middle(struct bounds b) { return b.low + (b.high - b.low) / 2; }
	X
}
# expert <directory> <workload> <element> [<operator> <code>]: commit a plain kernel, then the vector version
expert () {
	mkdir "$1" && contract "$1" "$2" "$2.c" "$3" "${4:-scale}" && plain "$1/$2.c" "$2" "$3" "${5:-/* $2 */}" && commit "$2: one at a time" &&
	wide "$1/$2.c" "$2" "$3" "${5:-/* $2 */}" && commit "$2: eight at a time" "$vector"
}

# library <repository>: create a repository with two experts, their lineages and one card of the first; stay in it
library () {
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 1200 &&
	expert scale scale "v $chain" && expert poly poly "v * v $chain" poly "$(other_code)" &&
	git klineage deopt --rewriter history --name x scale && git klineage deopt --rewriter history --name x poly &&
	git klineage lift scale/x >out && cat out && says vector-loop out
}
# the_card: print the id of the card in the current repository
the_card () { basename "$(git ls-tree --name-only klineage/skills:cards)" .yaml; }
# put_card <card> <file>: commit the file as that card, as somebody who does not use our verbs would
put_card () {
	blob=$(git hash-object -w "$2") && rm -f index.tmp && GIT_INDEX_FILE=index.tmp git read-tree klineage/skills &&
	GIT_INDEX_FILE=index.tmp git update-index --add --cacheinfo "100644,$blob,cards/$1.yaml" &&
	git update-ref refs/heads/klineage/skills "$(git commit-tree -p klineage/skills -m "by hand" "$(GIT_INDEX_FILE=index.tmp git write-tree)")" && rm index.tmp
}

# A fake model that answers from files: the reply is <phase>.<turn>@<n> for the n-th request of that name if the file exists,
# else <phase>.<turn>. `log` gets a line for each request, <phase>.<turn>.asked the text of the last one. At the request named
# in `slow` (<phase>.<turn>, with or without @<n>) the model creates the file `at` and sleeps.
# answering <directory>: create the directory of the answers, with the model's program
answering () {
	ANSWERS=$1
	export ANSWERS
	mkdir "$ANSWERS" && : >"$ANSWERS/log" && cat >"$ANSWERS/model" <<'E'
use JSON::PP;
local $/;
my $text = <STDIN>;
my $q = decode_json($text);
my $k = "$q->{phase}.$q->{turn}";
die "the command runs in a repository\n" if `git rev-parse --git-dir 2>/dev/null`;
open(my $l, '+>>', "$ENV{ANSWERS}/log") or die;
print $l "$k\n";
seek($l, 0, 0);
my $nth = "$k@" . grep { $_ eq $k } split(/\n/, <$l>);
close $l;
binmode STDOUT, ":utf8";
open(my $s, '>:utf8', "$ENV{ANSWERS}/$k.asked") or die;
print $s "$_\n" for @{$q->{system}}, map { $_->{text} } @{$q->{messages}};
close $s;
if (open(my $w, '<', "$ENV{ANSWERS}/slow")) {
	my $at = <$w>;
	if ($at eq "$k\n" || $at eq "$nth\n") {
		open(my $a, '>', "$ENV{ANSWERS}/at");
		close $a;
		sleep 20;
	}
}
open(my $f, '<', -e "$ENV{ANSWERS}/$nth" ? "$ENV{ANSWERS}/$nth" : "$ENV{ANSWERS}/$k") or die "no answer for $nth\n";
print encode_json({ schema => 'klineage.chat-reply/1', text => scalar <$f>, usage => { input => 1000, output => 100 } });
E
}
model="perl \"\$ANSWERS/model\""
asked () { cat "$ANSWERS/log"; }

# answer <phase>.<turn> <source> <file> [<card>]: store a reply that replaces <source> by <file>
answer () {
	{
		printf '<step>\naction: vectorize\nmechanism: -\nlocus: %s\ntraits: -\nwhy: eight at a time\n' "$2"
		test -z "${4:-}" || printf 'card: %s\n' "$4"
		printf '</step>\n<file path="%s">\n' "$2" && cat "$3" && printf '</file>\n'
	} >"$ANSWERS/$1"
}

# walked <file> <function> <element>: write a kernel with pointers instead of indices, so that no card's patch applies
# eight <file> <function> <element> <tail>: write its vector version; <tail> computes the remaining elements
walked () {
	cat >"$1" <<X
#include <stdint.h>
#define ELEMENT(v) ($3)

void $2(int64_t n, const float *x, float *y)
{
	const float *end = x + n;

	while (x != end)
		*y++ = ELEMENT(*x++);
}
X
}
eight () {
	cat >"$1" <<X
#include <stdint.h>
#define ELEMENT(v) ($3)

typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

void $2(int64_t n, const float *x, float *y)
{
	const float *end = x + n;

	for (; end - x >= 8; x += 8, y += 8) {
		eight v = *(const eight *)x;

		*(eight *)y = ELEMENT(v);
	}
	$4
}
X
}
# the <tail> of eight(): the remaining elements
tail='for (; x != end; x++) *y++ = ELEMENT(*x);'
shift="(v - 0.25f) $chain"

# walking <repository>: create a repository with a kernel that no card's patch applies to; stay in it
walking () {
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 1200 && mkdir -p src || return 1
	contract src shift shift.c "$shift" && walked src/shift.c shift "$shift" && sed -i "s/ELEMENT(\*x++)/ELEMENT(*x), x++/" src/shift.c &&
	commit "shift: a kernel"
}

# shifting <repository> [<kernel>]: create a repository with a contract and, if given, a kernel; stay in it
shifting () {
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 1200 && mkdir src && contract src shift shift.c "$shift" &&
	{ test -z "${2:-}" || cp "$2" src/shift.c; } && echo notes >NOTES && commit "shift: a contract"
}

# half <function> <plain|wide>: print a function of the kernel
half () {
	printf 'static void %s(int64_t n, const float *x, float *y)\n{\n\tint64_t i = 0;\n\n' "$1"
	test "$2" = plain || printf '\tfor (; i + 8 <= n; i += 8)\n\t\t*(eight *)(y + i) = ELEMENT(*(const eight *)(x + i));\n'
	printf '\tfor (; i < n; i++)\n\t\ty[i] = ELEMENT(x[i]);\n}\n\n'
}

# halves <plain|blocked> <plain|wide> <plain|wide>: write a kernel that computes the two halves of a block by a function each
halves () {
	{
		printf '#include <stdint.h>\n\n#define ELEMENT(v) (v %s)\n' "$chain"
		printf 'typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));\n\n'
		half low "$2"
		half high "$3"
		if test "$1" = plain; then
			printf 'void halves(int64_t n, const float *x, float *y)\n{\n'
			printf '\tlow(n / 2, x, y);\n\thigh(n - n / 2, x + n / 2, y + n / 2);\n}\n'
		else
			cat <<-\E
			#define BLOCK 512

			void halves(int64_t n, const float *x, float *y)
			{
				float block[BLOCK];

				for (int64_t at = 0; at < n; at += BLOCK) {
					int64_t size = n - at < BLOCK ? n - at : BLOCK;

					for (int64_t i = 0; i < size; i++)
						block[i] = x[at + i];
					low(size / 2, block, y + at);
					high(size - size / 2, block + size / 2, y + at + size / 2);
				}
			}
			E
		fi
	} >halves.c
}
packed='Klineage-Action: unpack
Klineage-Mechanism: pack-panel'
