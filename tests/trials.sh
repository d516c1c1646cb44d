#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/trials.sh [<build directory>] [<card>...] - judge the recorded trials of tests/data/trials again, or those of some
# cards: the model's replies are replayed, every verdict is new. Prints what each arm reached, then what the cards
# contributed. Needs a quiet machine with AVX2 for the speeds.
# tests/trials.sh --table - print the table of docs/trials.md from the results of the first run
top=$(cd "$(dirname "$0")/.." && pwd)
data=$top/tests/data/trials

if test "$1" = --table
then
	perl -MJSON::PP -e '
		sub reached { my $a = shift; return "-" unless $a; return $a->{class} eq "no-edit" ? "no edit" : $a->{class} || "failed" if $a->{result} ne "pass" && !$a->{ratio};
			return sprintf("%.2f", $a->{ratio}) . ($a->{result} eq "pass" ? "" : " ($a->{class})") }
		print "| card | on | K | card | intent | bare | wrong |\n| --- | --- | --- | --- | --- | --- | --- |\n";
		while (<STDIN>) {
			my $t = decode_json($_);
			printf "| %s | %s | %s | %s | %s | %s | %s |\n", $t->{card}, $t->{workload}, substr($t->{state}, 0, 7), reached($t), map { reached($t->{$_}) } qw(control bare wrong);
		}' <"$data/results.jsonl"
	exit
fi
build=$(cd "${1:-$top/build}" && pwd) || exit 1
test $# = 0 || shift
PATH=$build:$PATH && export PATH
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
git init -q "$work/r" && cd "$work/r" && git config user.name trials && git config user.email trials@example.invalid || exit 1
# the trials were drawn among these lineages
for l in "$top"/skills/lineages/* "$top"/skills/held-out/*
do
	test "$(basename "$l")" = cuda-fmha || git klineage import "$l" >/dev/null || exit 1
done
git klineage skills import --shipped >/dev/null && git config klineage.chat.provider replay || exit 1
while read -r seed card
do
	test $# = 0 || case " $* " in *" ${card%-*} "*) ;; *) continue ;; esac
	for recording in "$data"/*-"$card"-*.jsonl
	do
		git config klineage.chat.replay "$recording"
		echo
		# these states were drawn when no state was left out for lack of code that the card works on: name the workload
		on=$(basename "$recording") && on=${on%%-*}
		git klineage admit -q --arms card,intent,bare --on "$on" --seed "$seed" --rewriter chat --model recorded "$card" </dev/null || test $? -le 125 || exit 1
	done
done <"$data/plan"
echo
git klineage skills credit
