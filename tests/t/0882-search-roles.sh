#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the roles of policies: plans, items, rules, techniques and repairs, told to each other; a purse that is never over'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

target () {	# target <repository>: a kernel
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 100 && mkdir k || return 1
	contract k scale scale.c "v * 2.0f" && plain k/scale.c scale "v * 2.0f" "/* root */" && commit "scale: a kernel"
}

# A model that answers by its role. Its edits do not compile, so that no time is measured, and differ from each other.
# `log` gets "<ticket> <role> <turn>" for each request, <phase>.<turn>.asked its text.
ANSWERS=$PWD/answers && export ANSWERS && mkdir answers && cat >answers/model <<'E'
use JSON::PP;
local $/;
my $q = decode_json(<STDIN>);
my ($ticket, $role) = $q->{phase} =~ /^t(\d+)-(.*)$/ or die;
open(my $l, '>>', "$ENV{ANSWERS}/log") or die;
print $l "$ticket $role $q->{turn}\n";
open(my $s, '>:utf8', "$ENV{ANSWERS}/$q->{phase}.$q->{turn}.asked") or die;
print $s "$_\n" for @{$q->{system}}, map { $_->{text} } @{$q->{messages}};
my %say = (
	reviser => 'It is limited by memory.', planner => "Plan $ticket: use vectors.", summariser => 'Vectors are faster.',
	extractor => 'You cannot use a type that is not there.', profiler => 'Memory-bound.',
	judge => -e "$ENV{ANSWERS}/rule" ? '{"same": 2}' : '{"rule": "You cannot use a type that is not there."}',
	matcher => '{"state": "memory", "confidence_ppm": 900000, "primary": "memory"}',
	ranker => "```json\n" . encode_json({ techniques => [ map { { name => $_, relevance_ppm => 900000, saved_ppm => 100000 } } qw(tile unroll fuse pad) ] }) . "\n```",
);
open(my $r, '>', "$ENV{ANSWERS}/rule") if $role eq 'judge';
my $text = $say{$role} // "<step>\naction: try\nmechanism: -\nlocus: scale.c\ntraits: -\nwhy: number $ticket\n</step>\n" .
	"<file path=\"scale.c\">\nnothing f$ticket$q->{turn};\n</file>\n";
print encode_json({ schema => 'klineage.chat-reply/1', text => $text, usage => { input => 1000, output => 100 } });
E
model="perl \"\$ANSWERS/model\""
search () { git klineage search --rewriter exec --exec "$model" -q "$@"; }
roles () { cut -d" " -f1,2 "$ANSWERS/log" | tr "\n" ";"; : >"$ANSWERS/log"; }
found () { printf "%s\n" "$1" >want && roles >have && echo >>have && test_cmp want have; }

test_expect_success 'accelopt: a plan for each candidate, which alone its executor sees' '
	(target a && exits 1 search --policy accelopt --set beam=1,plans=2,samples=1,top=2 --candidates 3 scale >out && cat out &&
	says "ticket 3 on 0: fail, compile" out && says "nothing is faster" out && git klineage fsck >out && says ": 0 errors" out) &&
	found "1 planner;2 planner;3 executor;4 executor;7 planner;8 planner;9 executor;" &&
	says "Plan 2: use vectors." answers/t4-executor.0.asked && ! grep "Plan 1: use vectors." answers/t4-executor.0.asked &&
	git -C a log --format=%s refs/klineage/cells/scale/accelopt-1 >log && says "ticket 5, skipped" log && says "ticket 1, note" log
'

test_expect_success 'adaexplore: the judge knows the rules, and a rule is shown when it has its count' '
	(target b && exits 1 search --policy adaexplore --set learn=each,rules=2,p_large=1 --candidates 3 scale >out && cat out) &&
	found "1 proposer;2 extractor;2 judge;3 proposer;4 extractor;4 judge;5 proposer;" &&
	says "What was said of it before you" answers/t4-judge.0.asked && says "rule of ticket 2" answers/t4-judge.0.asked &&
	! grep "rule of ticket" answers/t3-proposer.0.asked && says "rule of ticket 2" answers/t5-proposer.0.asked &&
	says "You cannot use a type" answers/t5-proposer.0.asked
'

test_expect_success 'kernelblaster: the drawn technique is asked for, and tried again with what the compiler says' '
	(target c && exits 1 search --policy kernelblaster --set rollouts=1,steps=2,tries=2,gradient=off --candidates 5 scale >out && cat out &&
	git log --format="%(trailers:key=Klineage-Form,valueonly)" refs/klineage/cells/scale/kernelblaster-1 | grep -E "^(tile|unroll|fuse|pad)$") &&
	found "1 profiler;1 matcher;2 ranker;3 coder;3 coder;" && says "\"technique\":" answers/t3-coder.0.asked &&
	says "\"state\": \"memory\"" answers/t2-ranker.0.asked && says "That was refused" answers/t3-coder.1.asked && says "class: compile" answers/t3-coder.1.asked
'

test_expect_success 'evolve, shinka, pareto and refine ask for edits alone' '
	(target d && for p in evolve shinka pareto refine best-of-n; do exits 1 search --policy $p --candidates 2 scale >out && says "ticket 2" out || exit 1; done) &&
	found "1 mutator;2 mutator;1 mutator;2 mutator;1 mutator;2 mutator;1 coder;2 coder;1 coder;2 coder;"
'

test_expect_success 'all candidates of best-of-n are asked for in the same words' '
	sed 1d answers/t1-coder.0.asked >one && sed 1d answers/t2-coder.0.asked >two && grep -v "^\[t[12]-coder" one >have && grep -v "^\[t[12]-coder" two >want && test_cmp want have
'

# spent: print what a search has spent of its cap, in nano-dollars, and how many candidates it made
spent () { perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); print "$j->{spent_nano} $j->{cap_nano} $j->{candidates}\n"' <"$1"; }

test_expect_success 'a purse of its own, never over; with more money it goes on' '
	(target e && git config klineage.chat.metered true && git config klineage.chat.model m && git config klineage.chat.price "input=3 output=15" &&
	exits 1 search --policy best-of-n --candidates 9 --budget 0.01 scale --json --name poor >out && spent out >got && echo "0 10000000 0" >want && test_cmp want got &&
	says "the budget does not allow a request" out && exits 1 search --policy best-of-n --candidates 9 --budget 0.06 --json scale >out && spent out >got && cat got &&
	read nano cap n <got && test $nano -gt 0 && test $nano -le $cap && test $n -ge 1 && test $n -lt 9 && test $nano = $((n * 4500000)) &&
	says "the budget does not allow a request" out && exits 1 git klineage search -q --continue --name best-of-n-1 --budget 0.2 --json scale >out && spent out >got && cat got &&
	echo "40500000 200000000 9" >want && test_cmp want got && test "$(git rev-list --count refs/klineage/purse/scale/best-of-n-1)" = 18 &&
	git klineage chat cost >out && says "scale/best-of-n-1: \$0.0405 for the search" out && says "t9-coder" out &&
	git klineage chat cost --json scale >out && says "\"cap\":null" out && git klineage chat settle scale/best-of-n-1 >out && says "no interrupted" out &&
	test_must_fail git rev-parse -q --verify refs/klineage/ledger/scale && git klineage fsck >out && says ": 0 errors" out)
'

test_done
