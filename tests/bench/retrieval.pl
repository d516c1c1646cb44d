#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# retrieval.pl <states of retrieval.sh> - print figures of retrieval over the decidable states, one a line, as "<name> <figure>":
#
#	states, decidable	states asked about, and those whose next mechanism the library has
#	recall, recall_chance	share of them with a right card among the first 8; the same for cards in random order
#	mrr, mrr_chance		mean of 1 / rank of the first right card (0 if none is offered); the same for random order
#	excluded		decidable states to which no right card was offered at all
#
# Cards of equal score count as if in random order, so that names decide nothing.
use strict;
use warnings;

my $MOST = 8;

# The probability that none of `right` cards among `all` is among the first `n` in random order.
sub missed
{
	my ($all, $right, $n) = @_;
	my $p = 1;

	return 0 if $n > $all - $right;
	$p *= ($all - $right - $_) / ($all - $_) for 0 .. $n - 1;
	return $p;
}

# Expected recall and reciprocal rank of groups of cards: [cards, right ones], best first.
sub expected
{
	my @groups = @_;
	my ($before, $recall, $reciprocal) = (0, 0, 0);

	for my $group (@groups) {
		my ($all, $right) = @$group;
		if ($right) {
			my $slots = $MOST - $before;
			$slots = $slots < 0 ? 0 : $slots > $all ? $all : $slots;
			$recall = 1 - missed($all, $right, $slots);
			# the first right card is at place $i of the group
			for my $i (1 .. $all - $right + 1) {
				my $here = missed($all, $right, $i - 1) - missed($all, $right, $i);
				$reciprocal += $here / ($before + $i);
			}
			last;
		}
		$before += $all;
	}
	return ($recall, $reciprocal);
}

my %sum = map { $_ => 0 } qw(states decidable recall recall_chance mrr mrr_chance excluded);
while (my $line = <>) {
	chomp $line;
	my (undef, undef, $mechanism, $all, $right, @offered) = split /\t/, $line;
	$sum{states}++;
	next unless $right;
	$sum{decidable}++;
	my (@groups, $last);
	for my $card (@offered) {
		my ($name, $score) = split / /, $card;
		push @groups, [0, 0] unless defined $last && $last == $score;
		$last = $score;
		$groups[-1][0]++;
		$groups[-1][1]++ if $name eq $mechanism;
	}
	my ($recall, $reciprocal) = expected(@groups);
	my ($recall_chance, $mrr_chance) = expected([$all, $right]);
	$sum{recall} += $recall;
	$sum{recall_chance} += $recall_chance;
	$sum{mrr} += $reciprocal;
	$sum{mrr_chance} += $mrr_chance;
	$sum{excluded}++ unless $reciprocal;
}
for my $name (qw(states decidable recall recall_chance mrr mrr_chance excluded)) {
	my $mean = $name =~ /^(recall|mrr)/ && $sum{decidable};
	printf "%s %.4f\n", $name, $mean ? $sum{$name} / $sum{decidable} : $sum{$name};
}
