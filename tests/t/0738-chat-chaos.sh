#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='a walk whose provider fails every third time ends without a hand, with the same trees and the money in its ledger'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
. "$KLINEAGE_TOP/tests/t/answers.sh"
. "$KLINEAGE_TOP/tests/t/server.sh"

# Five replies: two that cannot be used, a step, its re-derivation, the end. chatd strikes a third of the requests: 429, 503,
# 529, 500, pages, streams that are cut or hold an error. Which ones follows from the seed.
turns=5
seeds="3 16"

# walk <repo> <provider> <option of the server>...: a walk to its end, at a server of its own
walk () {
	repo=$1 provider=$2 && shift 2 && fresh "$repo" "$provider" && cp script "$repo.script" &&
	serve "$repo" --account --bill "$PWD/$repo.bill" "$@" &&
	(cd "$repo" && git config klineage.chat.url "http://127.0.0.1:$port" && deopt --rewriter chat --name x >"../$repo.out" 2>"../$repo.err")
}

# result <repo>: what a walk made: trees of the walk and the lineage; of each turn the digest of what was asked, less the times
# that were measured, and the reply
result () {
	git -C "$1" log --format="walk %T" main..$walk && git -C "$1" log --format="lineage %T" $lineage &&
	git -C "$1" for-each-ref --format="%(refname)" refs/klineage/chat | while read -r ref; do
		git -C "$1" rev-list --reverse "$ref" | while read -r turn; do
			echo "$ref $(git -C "$1" show "$turn:meta.json" | sed -n "s/.*\"chain\": //p") $(git -C "$1" rev-parse "$turn:reply")"
		done
	done
}

# money <repo>: "<charged> <settled> <reserved>", nano-dollars; the price is that of `fresh`, a token that is written to the cache being dearest
money () {
	perl -MJSON::PP -ne 'my $b = decode_json($_);
		$sum += $b->{input} * 3000 + $b->{output} * 15000 + $b->{cache_read} * 500 + $b->{cache_write_5m} * 6000;
		END { printf "%d ", $sum }' "$1.bill" &&
	git -C "$1" cat-file blob $ledger:ledger.json | perl -MJSON::PP -e 'local $/;
		my $t = decode_json(<STDIN>)->{totals}{induce}; print "$t->{settled} $t->{reserved}\n"'
}

test_expect_success 'a kernel, and what is said of it' '
	kernel_and_script "" && answer forward restore base/k/scale.c && : >struck &&
	{
		line "\"stop\":\"refusal\",\"text\":\"I would rather not\"" && line "" answers/step &&
		line "\"stop\":\"length\"" answers/step && line "" answers/forward && line "" answers/end
	} >script
'

for provider in anthropic openai; do
	test_expect_success "$provider: undisturbed" '
		walk calm-$provider $provider && says "1 step accepted (1 re-derived)" calm-$provider.out && result calm-$provider >calm-$provider.result &&
		test "$(asked calm-$provider)" = $turns && cat calm-$provider.result && money calm-$provider >have && cat have &&
		test "$(cut -d" " -f1 have) 0" = "$(cut -d" " -f2,3 have)"
	'

	for seed in $seeds; do
		test_expect_success "$provider, seed $seed: without a hand, with the same trees" '
			repo=wild-$provider-$seed && walk $repo $provider --chaos $seed && says "1 step accepted (1 re-derived)" $repo.out &&
			result $repo >have && test_cmp calm-$provider.result have && with_key $repo &&
			echo $(($(asked $repo) - turns)) $(asked $repo) >>struck
		'

		test_expect_success "$provider, seed $seed: the ledger covers what was charged" '
			money wild-$provider-$seed >have && cat have && read charged settled held <have &&
			test "$charged" -gt 0 && test "$charged" -le $((settled + held)) &&
			(cd wild-$provider-$seed && git klineage chat settle scale >out && cat out) && money wild-$provider-$seed >after &&
			test "$(cut -d" " -f3 after)" = 0 && git -C wild-$provider-$seed klineage fsck >out && says "0 errors, 0 warnings" out
		'
	done
done

test_expect_success 'a third of the requests was struck' '
	cat struck && awk "{ struck += \$1; all += \$2 } END { exit !(all > 4 * $turns && 3 * struck >= all) }" struck
'

test_done
