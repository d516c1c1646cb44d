#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# tests/house/measure.pl - the program behind tests/house.sh, which describes the arguments.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Commits;
use Tree;

my ($range, $rooms, @top);
my (@name, %value, @detail);

sub options
{
	while (@_) {
		my $word = shift;
		if ($word eq '--commits' && @_) {
			$range = shift;
		} elsif ($word eq '--rooms') {
			$rooms = 1;
		} elsif ($word =~ /^-/) {
			print STDERR "usage: tests/house.sh [--rooms] [--commits <range>] [<directory>]...\n";
			exit 129;
		} else {
			$word =~ s{(?<=.)/+$}{};
			push @top, $word;
		}
	}
	@top = ('.') if !@top;
}

sub add_rows
{
	my ($column, $rows) = @_;
	for (@$rows) {
		push @name, $_->[0] if !$value{$_->[0]};
		$value{$_->[0]}[$column] = $_->[1];
	}
}

sub measure_all
{
	for my $i (0 .. $#top) {
		my $src = -d "$top[$i]/src" ? "$top[$i]/src" : $top[$i];
		my ($rows, $more) = Tree::measure($src);
		add_rows($i, $rows);
		push @detail, "\n$src", @$more;
		next if !defined $range;
		add_rows($i, Commits::measure($top[$i], $range, "$FindBin::Bin/../verbs"));
	}
}

sub print_row
{
	my ($first, @cell) = @_;
	printf '%-62s', $first;
	# shorten a long name to its end, which differs most
	printf '  %26s', length $_ > 26 ? '..' . substr $_, -24 : $_ for @cell;
	print "\n";
}

options(@ARGV);
if (!eval { measure_all(); 1 }) {
	print STDERR $@;
	exit 1;
}
print_row('', @top);
for my $name (@name) {
	print_row($name, map { $value{$name}[$_] // '-' } 0 .. $#top);
}
print map { "$_\n" } @detail if $rooms;
