# SPDX-License-Identifier: Apache-2.0
#
# Commits - measures of a range of commits: the form of their subjects, their size.
package Commits;
use strict;
use warnings;
use Tree;

sub verbs
{
	my ($path) = @_;
	open my $in, '<', $path or die "house: cannot open '$path': $!\n";
	return { map { chomp; $_ => 1 } grep { !/^#/ && /\S/ } <$in> };
}

# Return the rows for the commits of $range in the repository at $top, without merges. $list is
# the path of tests/verbs.
sub measure
{
	my ($top, $range, $list) = @_;
	my $verbs = verbs($list);
	my (@inserted, @rows);
	my ($n, $imperative, $joined) = (0, 0, 0);

	my @git = ('git', '-C', $top, 'log', '--no-merges', '--shortstat', '--format=%x00%s', $range, '--');
	open my $log, '-|', @git or die "house: cannot run git: $!\n";
	while (my $line = <$log>) {
		if ($line =~ /^\0(.*)/) {
			my $subject = $1;
			$n++;
			push @inserted, 0;
			$joined++ if $subject =~ /;/;
			$subject =~ s/^[\w\/.,* -]{1,60}?: //;
			$imperative++ if $subject =~ /^([A-Za-z-]+)/ && $verbs->{lc $1};
		} elsif ($line =~ /(\d+) insertion/) {
			$inserted[-1] = $1;
		}
	}
	close $log or die "house: cannot list the commits of '$range' in '$top'\n";
	return [
		['commits', $n],
		['subjects that begin with a verb of tests/verbs', Tree::percent($imperative, $n, 0)],
		['subjects joined by ";"', Tree::percent($joined, $n, 0)],
		['insertions per commit, median / p90', Tree::spread([0.5, 0.9], @inserted)],
	];
}

1;
