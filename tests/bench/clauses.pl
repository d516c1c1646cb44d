# SPDX-License-Identifier: Apache-2.0
# clauses.pl <file> - makes figures of what clauses.sh printed: a name and a number a line.
use strict;
use warnings;
use JSON::PP;

my %sum;
while (my $line = <>) {
	my $doc = decode_json($line);
	if ($doc->{all}) {
		$sum{cards} = @{$doc->{cards}};
		$sum{"card-$_"} = $doc->{all}{$_} for qw(steps tested points witnessed stronger not-needed not-tested unexplained drawn drawn_right drawn_fails);
		next;
	}
	for my $step (@{$doc->{steps}}) {
		$sum{edits}++;
		$sum{"edit-$_"} += $step->{$_} for qw(tested fails unexplained drawn drawn_right drawn_fails);
		$sum{"edit-$_->{state}"}++ for @{$step->{clauses}};
		next if $step->{unexplained} && $step->{fails} < $step->{tested};
		$sum{"claimed-$_"} += $step->{$_} for qw(drawn drawn_right);
		$sum{claimed}++;
	}
}
$sum{drawn} = ($sum{'card-drawn'} // 0) + ($sum{'edit-drawn'} // 0);
$sum{drawn_right} = ($sum{'card-drawn_right'} // 0) + ($sum{'edit-drawn_right'} // 0);
$sum{drawn_fails} = ($sum{'card-drawn_fails'} // 0) + ($sum{'edit-drawn_fails'} // 0);
print "$_ $sum{$_}\n" for sort keys %sum;
