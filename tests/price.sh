#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/price.sh <build directory> [demo|ten|two]... - what walks cost; all of them by default.
# The provider is tests/fake/chatd of this tree, with its accounting of a cache: four bytes are a token. The build can be that of
# another commit, so that its price can be compared. Replies are written beforehand; every verdict is that of the gate.
#   demo  the recorded walk of c-topk (docs/recorded.md), seven steps, with their re-derivation
#   ten   ten steps of a small kernel, each by one turn, without re-derivation
#   two   the same steps, each by two turns: the first is refused by the gate
# A price is for PRICES, in US dollars for a million tokens. KLINEAGE_PRICE_KEEP=1 keeps the repositories and logs.
set -u
build=$(cd "$1" && pwd) || exit 129
shift
walks=${*:-demo ten two}
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-price-XXXXXX")
test -n "${KLINEAGE_PRICE_KEEP:-}" || trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
PRICES="input=5 output=25 cache-read=0.5 cache-write-5m=6.25"

# other builds remove the temporary directories of processes that they take for dead
mkdir "$work/tmp" || exit 1
HOME=$work TMPDIR=$work/tmp PATH=$build:$PATH
GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work LC_ALL=C TZ=UTC
GIT_AUTHOR_NAME=price GIT_AUTHOR_EMAIL=price@klineage.invalid
GIT_COMMITTER_NAME=price GIT_COMMITTER_EMAIL=price@klineage.invalid
export HOME TMPDIR PATH GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL TZ
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

# the server of this tree, whatever build is measured
SHARNESS_TRASH_DIRECTORY=$work
KLINEAGE_BUILD=$top/build
test -x "$KLINEAGE_BUILD/tests/chatd" || { echo "price: run 'make tests' first" >&2; exit 1; }
cd "$work" || exit 1
. "$top/tests/t/scale.sh"
. "$top/tests/t/answers.sh"
. "$top/tests/t/server.sh"

# ask <repo> <options of deopt>...: walk, asking the server at $port
ask () {
	repo=$1 && shift && (
	cd "$repo" && git config klineage.chat.provider anthropic && git config klineage.chat.model m-1 &&
	git config klineage.chat.url "http://127.0.0.1:$port" && git config klineage.chat.price "$PRICES" &&
	git config klineage.chat.cache 5m && git config klineage.chat.patience 0 &&
	KLINEAGE_CHAT_KEY=$key git klineage deopt --rewriter chat "$@"
	) >"$repo.out" 2>"$repo.err"
}

# --- the recorded walk -------------------------------------------------------------

# recorded: print the recording as a script; the prompts of the three kinds of conversations tell which reply is next
recorded () {
	perl -MJSON::PP -ne '
		my %of = (back => "It is walked back to a plain one, step by step", forward => "one optimization that is to be put into it",
			traits => "You are a second reader");
		my $j = decode_json($_);
		next unless exists $j->{key};
		my ($kind) = $j->{phase} =~ /^(\w+)-/;
		print encode_json({ match => $of{$kind}, text => $j->{text} }), "\n"' "$top/tests/data/chat/c-topk.jsonl"
}

demo () {
	git klineage init --template c-topk demo >demo.out 2>&1 && recorded >demo.script &&
	git -C demo config klineage.profileMs 4000 && serve demo --account --bill "$work/demo.bill" && ask demo --name r --steps 7
}

# --- ten steps -----------------------------------------------------------------------

# scaled <n>: the kernel with n elements at a time; with "wrongly" it leaves the rest out
scaled () {
	printf '#include <stdint.h>\n\nvoid scale(int64_t n, const float *x, float *y)\n{\n\tint64_t i = 0;\n\n'
	printf '\tfor (; i + %d <= n; i += %d) {\n' "$1" "$1"
	seq 0 $(($1 - 1)) | sed 's/.*/\t\ty[i + &] = x[i + &] * 3.0f + 1.0f;/'
	printf '\t}\n'
	test "${2-}" = wrongly || printf '\tfor (; i < n; i++)\n\t\ty[i] = x[i] * 3.0f + 1.0f;\n'
	printf '}\n'
}

# steps <repo> [wrongly]: ten steps from 12 elements at a time to 2; with "wrongly" the gate refuses a first try of each
steps () {
	(make_repo "$1" && git config klineage.profileMs 100 && scaled 12 >k/scale.c && git commit -q -a -m 'scale: twelve at a time' &&
		git klineage gate) >"$1.out" 2>&1 && answers "$work/answers" &&
	for n in 11 10 9 8 7 6 5 4 3 2; do
		scaled "$n" >right.c && answer right reroll right.c "one element fewer at a time" &&
		if test "${2-}" = wrongly; then
			scaled "$n" wrongly >wrong.c && answer wrong reroll wrong.c "one element fewer at a time" && line "" answers/wrong
		fi &&
		line "" answers/right || return 1
	done >"$1.script" &&
	echo "<nothing-left>plain as can be</nothing-left>" >answers/end && line "" answers/end >>"$1.script" &&
	serve "$1" --account --bill "$work/$1.bill" && ask "$1" --no-rederive --name x
}

# walk <walk>: make it
walk () {
	case $1 in
	demo) demo ;;
	ten) steps ten ;;
	two) steps two wrongly ;;
	*) echo "price: there is no walk '$1'" >&2; return 1 ;;
	esac
}

# --- the table -----------------------------------------------------------------------

# row <walk>: what the server charged
row () {
	perl -MJSON::PP -e '
		my ($walk, $steps, $prices) = @ARGV;
		my %price = map { split /=/ } split / /, $prices;
		my ($n, %sum) = (0);
		while (<STDIN>) { my $bill = decode_json($_); $n++; $sum{$_} += $bill->{$_} for qw(input cache_read cache_write_5m output); }
		my $in = $sum{input} + $sum{cache_read} + $sum{cache_write_5m};
		$in or die "price: $walk: the server counted no tokens of a prompt\n";
		my $dollars = ($sum{input} * $price{input} + $sum{cache_read} * $price{"cache-read"} +
			$sum{cache_write_5m} * $price{"cache-write-5m"} + $sum{output} * $price{output}) / 1e6;
		printf "%-5s %6s %8d %9d %9d %8d %8d %6.1f %% %9.4f\n", $walk, $steps, $n, $in, $sum{cache_read}, $sum{cache_write_5m},
			$sum{output}, 100 * $sum{cache_read} / $in, $dollars' "$1" "$2" "$PRICES" <"$1.bill"
}

printf '%-5s %6s %8s %9s %9s %8s %8s %8s %9s\n' walk steps requests 'tokens in' cached written out share dollars
failed=0
for walk in $walks; do
	if walk "$walk" && steps=$(sed -n 's/.*[^0-9]\([0-9][0-9]*\) steps\{0,1\} accepted.*/\1/p' "$walk.out") && test -s "$walk.bill"; then
		row "$walk" "${steps:-?}" || failed=1
	else
		echo "price: $walk: the walk failed" >&2
		cat "$walk.out" "$walk.err" >&2 2>/dev/null
		failed=1
	fi
done
exit "$failed"
