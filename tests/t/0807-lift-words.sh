#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage lift --words: a model words the cards, and what it says is checked'
. ./lib.sh

lineages=$KLINEAGE_TOP/skills/lineages
skills=refs/heads/klineage/skills
cards=$(find "$lineages/cuda-gdn-cumsum" -maxdepth 1 -name '[0-9]*.patch' | grep -c .)

# a model that has a file for what it says: $SAID/<mechanism>.<turn>, else $SAID/any; `log` has what it was asked
SAID=$PWD/said
export SAID
mkdir "$SAID"
cat >"$SAID/model" <<'E'
use JSON::PP;
local $/;
my $q = decode_json(<STDIN>);
die "the command stands in a repository\n" if `git rev-parse --git-dir 2>/dev/null`;
my ($m) = $q->{phase} =~ /^lift-(.*)-[0-9a-f]{7}$/ or die "no phase: $q->{phase}\n";
open(my $l, '>>', "$ENV{SAID}/log") or die;
print $l "$m.$q->{turn}\n";
close $l;
open(my $u, '>', "$ENV{SAID}/asked-$m.$q->{turn}") or die;
binmode $u, ':utf8';
print $u $q->{messages}[-1]{text};
close $u;
if (-e "$ENV{SAID}/slow") { open(my $a, '>', "$ENV{SAID}/at"); close $a; sleep 5; }
my ($f) = grep { -e } "$ENV{SAID}/$m.$q->{turn}", "$ENV{SAID}/any";
open(my $a, '<', $f) or die "no answer to $m.$q->{turn}\n";
exit 75 if -e "$ENV{SAID}/$m.busy";
print encode_json({ schema => 'klineage.chat-reply/1', text => scalar <$a>,
		    stop => -e "$ENV{SAID}/$m.no" ? 'refusal' : 'end', usage => { input => 1000, output => 100 } });
E
model="perl \"\$SAID/model\""
gdn=$lineages/cuda-gdn-cumsum

repo () {
	cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf "$1" && git init -q "$1" && cd "$1" || return 1
	: >"$SAID/log"
}
words () { git klineage lift --words exec --exec "$model" "$@"; }
card () {	# card <mechanism>: the text of its card
	git show "$skills:cards/$(git ls-tree --name-only "$skills:cards" | grep "^$1-[0-9a-f]\{7\}\.yaml$")"
}
count () { git ls-tree --name-only "$skills:cards" | wc -l; }
reply () {	# reply <intent> [<blocks>]
	printf '<card>\nintent: %s\nconstruct: a loop\nacts-on: its body\n</card>\n' "$1"
	test -z "${2-}" || printf '%s\n' "$2"
}
pre () {	# pre <test> <witness>
	printf '<pre>\nid: lie\nkind: sound\ntest: %s\nwitness: %s\ntext: x\n</pre>' "$1" "$2"
}

test_expect_success 'every new card is worded, lint and fsck find nothing, the conversations are kept' '
	{
		reply "what any kernel would do" && printf "<pre>\nid: many\nkind: useful\ntest: T >= 2\nwitness: -\ntext: there must be some\n</pre>\n" &&
		printf "<carrier language=\"cuda\" form=\"pseudocode\">\nfor each x\n</carrier>\n"
	} >"$SAID/any" &&
	repo all && words "$gdn" >out 2>err && test "$(wc -l <"$SAID/log")" = "$cards" && ! grep "was not reworded" err &&
	for c in $(git ls-tree --name-only "$skills:cards"); do
		git show "$skills:cards/$c" >card && says "intent: what any kernel would do" card && says "id: many" card &&
		says "form: pseudocode" card && says "form: diff" card || return 1
	done &&
	git klineage skills lint >out && says ": 0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out &&
	test "$(git for-each-ref refs/klineage/chat | wc -l)" = "$cards" &&
	git log -1 --format=%B $skills >out && says "worded by a model (exec)" out
'

test_expect_success 'no number of what was measured is its own: the rest is as without a model' '
	repo plain && git klineage lift "$gdn" >out &&
	for c in $(git ls-tree --name-only "$skills:cards"); do
		git show "$skills:cards/$c" >a && git -C ../all show "$skills:cards/$c" >b &&
		for k in evidence scope effect; do
			sed -n "/^$k:/,/^[a-z]/p" a | sed "\$d" >a.$k && sed -n "/^$k:/,/^[a-z]/p" b | sed "\$d" >b.$k &&
			test_cmp a.$k b.$k || return 1
		done
	done && test -s a.evidence && test -s a.effect
'

test_expect_success 'lifted again nothing is asked; the words of cards that are there stay' '
	cd ../all && : >"$SAID/log" && tip=$(git rev-parse $skills) && words "$gdn" >out &&
	test ! -s "$SAID/log" && test "$(git rev-parse $skills)" = "$tip" &&
	reply "other words" >"$SAID/any" && words "$gdn" "$lineages/cuda-topk" >out &&
	! grep -x -e sm-stage.0 -e vector-load.0 "$SAID/log" && grep -x radix-select.0 "$SAID/log" &&
	card sm-stage >out && says "lineage: cuda-topk/" out && says "intent: what any kernel would do" out &&
	card radix-select >out && says "intent: other words" out
'

test_expect_success 'a card that is refused, or for which nobody answers, does not stop the others' '
	repo some && reply "any words" >"$SAID/any" && : >"$SAID/sm-stage.no" && : >"$SAID/smem-pad.busy" && git config klineage.chat.patience 1 &&
	words "$gdn" >out 2>err && rm "$SAID/sm-stage.no" "$SAID/smem-pad.busy" &&
	grep "sm-stage-[0-9a-f]* was not reworded: it is a refusal" err &&
	grep "smem-pad-[0-9a-f]* was not reworded: .*failed with exit code 75.*gave up after [1-9]" err &&
	test "$(count)" = "$cards" && card sm-stage >out && ! grep "any words" out && card smem-pad >out && ! grep "any words" out &&
	for m in coalesce vector-load warp-scan register-scan; do card $m >out && says "intent: any words" out || return 1; done &&
	test "$(grep -c "^sm-stage" "$SAID/log")" = 3 && git klineage fsck >out && says ": 0 errors, 0 warnings" out
'

test_expect_success 'what the data do not bear out is told to it, and not taken' '
	repo lies && rm "$SAID/any" && all="coalesce sm-stage vector-load warp-scan smem-pad register-scan" &&
	for m in $all; do reply "the truth of $m" >"$SAID/$m.1" || return 1; done &&
	reply lie "$(pre "has('\''made-up'\'')" -)" >"$SAID/coalesce.0" &&
	reply lie "$(pre "T < 2" -)" >"$SAID/sm-stage.0" &&
	reply lie "$(pre "T >= 1" R7)" >"$SAID/vector-load.0" &&
	reply lie "$(printf "<risk>\nclass: wrong-edge\nviolates: -\nevents: T1\ntext: x\n</risk>")" >"$SAID/warp-scan.0" &&
	reply "runs 3x as fast" >"$SAID/smem-pad.0" &&
	reply lie "$(printf "<carrier language=\"cuda\" form=\"diff\">\nx\n</carrier>")" >"$SAID/register-scan.0" &&
	words "$gdn" >out 2>err && ! grep "keeps its" err &&
	says "asks for the feature '\''made-up'\''" "$SAID/asked-coalesce.1" &&
	says "cannot be sound: cuda-gdn-cumsum/" "$SAID/asked-sm-stage.1" && says "was accepted, and there it is false" "$SAID/asked-sm-stage.1" &&
	says "the witness '\''R7'\''" "$SAID/asked-vector-load.1" &&
	says "cites T1, which was '\''slower'\''" "$SAID/asked-warp-scan.1" &&
	says "states a speed" "$SAID/asked-smem-pad.1" && says "semantic patches are taken from the steps" "$SAID/asked-register-scan.1" &&
	for m in $all; do
		card $m >out && says "intent: the truth of $m" out && ! grep -w lie out || return 1
	done && rm "$SAID"/*.[01]
'

test_expect_success 'three unusable answers: the texts of lift stay, and the rest goes on' '
	repo never && echo "I cannot say." >"$SAID/any" && reply "good words" >"$SAID/sm-stage.0" && words "$gdn" >out 2>err &&
	test "$(grep -c "was not reworded: the reply has no <card>" err)" = "$((cards - 1))" &&
	test "$(grep -c "^coalesce" "$SAID/log")" = 3 &&
	card sm-stage >out && says "intent: good words" out && card coalesce >out && ! grep "good words" out &&
	words --json "$gdn" >out && says "\"cards\":[]" out && rm "$SAID/sm-stage.0"
'

test_expect_success 'killed in the middle, what was answered is not asked again' '
	reply "some words" >"$SAID/any" && repo cut && : >"$SAID/slow" && rm -f "$SAID/at" &&
	(exec git-klineage lift --words exec --exec "$model" "$gdn" >out 2>err) & pid=$! &&
	while ! test -e "$SAID/at"; do kill -0 $pid || return 1; sleep 0.05; done && kill -9 $pid; wait $pid
	rm "$SAID/slow" && : >"$SAID/log" && git fsck --strict && timeout -s KILL 0.6 git klineage lift --words exec --exec "$model" "$gdn" >out 2>err
	git fsck --strict && git for-each-ref --format="%(refname)" refs/klineage/chat | sed "s,.*/lift-,,;s,-[0-9a-f]*\$,.0," >had &&
	: >"$SAID/log" && words "$gdn" >out && ! grep -x -F -f had "$SAID/log" &&
	test "$(git for-each-ref refs/klineage/chat | wc -l)" = "$cards" && test "$(count)" = "$cards" &&
	git klineage fsck >out && says ": 0 errors, 0 warnings" out
'

test_expect_success 'a recording of it answers for it, elsewhere' '
	name=$(git for-each-ref --format="%(refname)" refs/klineage/chat | head -n 1 | cut -d/ -f4,5) &&
	git klineage chat export --output ../recording "$name" && first=$(git rev-parse "$skills^{tree}") &&
	repo replayed && git config klineage.chat.provider replay && git config klineage.chat.replay "$SHARNESS_TRASH_DIRECTORY/recording" &&
	git klineage lift --words chat --model recorded "$gdn" >out 2>err && test "$(git rev-parse "$skills^{tree}")" = "$first"
'

test_expect_success 'a budget that allows none leaves the texts of lift, and no reservation' '
	repo poor && git config klineage.chat.provider anthropic && git config klineage.chat.url http://127.0.0.1:9 && git config klineage.m-1.price "input=2 output=10" &&
	git klineage lift --words chat --model m-1 --budget 0.000001 "$gdn" >out 2>err &&
	test "$(grep -c "was not reworded" err)" = "$cards" && test -z "$(git for-each-ref refs/klineage/chat refs/klineage/ledger)" &&
	test "$(count)" = "$cards"
'

test_expect_success 'an estimate sends nothing and writes nothing' '
	repo estimate && git config klineage.chat.provider anthropic && git config klineage.chat.url http://127.0.0.1:9 && git config klineage.m-1.price "input=2 output=10" &&
	git klineage lift --estimate --words chat --model m-1 "$gdn" >out && says "$cards new cards: \$" out &&
	says "nothing was sent" out && test -z "$(git for-each-ref)" &&
	git klineage lift --estimate --json --words exec --exec "$model" "$gdn" >out && says "klineage.lift-estimate/1" out && test ! -s "$SAID/log" &&
	words --dry-run "$gdn" >out && test ! -s "$SAID/log" && test -z "$(git for-each-ref)"
'

test_expect_success 'bad asking' '
	exits 129 git klineage lift --words someone 2>err && says "--words takes chat or exec" err &&
	exits 129 git klineage lift --budget 1 2>err && says "--words chat or exec" err &&
	exits 129 git klineage lift --estimate 2>err &&
	exits 129 git klineage lift --words chat --exec x 2>err && says "--exec needs --words exec" err &&
	git config --unset klineage.chat.provider && exits 129 git klineage lift --words exec "$gdn" 2>err && says "klineage.chat.exec" err &&
	test -z "$(git for-each-ref)"
'

test_done
