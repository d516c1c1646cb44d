#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# tests/files.pl [--write | --check] [<top of the tree>]
#
# Print the table "Every file" of docs/architecture.md from the sources, with one row for the .c
# and .h of the same name. The text of a row is the first sentence of the comment "<name> - <what
# it is>" in the header, up to a full stop or colon; without a header it is the second line of the
# .c. --write updates the table in the document, --check compares it. Exit 1 if a file has no such
# comment, if it is too long, or if the table is out of date.
use strict;
use warnings;
use File::Find;

my $HEADING = '## Every file';
my $MOST = 92;		# characters of a row's text
my $failed = 0;

sub complain
{
	print STDERR "@_\n";
	$failed = 1;
}

sub give_up
{
	print STDERR "files: @_\n";
	exit 1;
}

sub read_file
{
	my ($path) = @_;
	open my $in, '<', $path or give_up("cannot open '$path': $!");
	local $/;
	return scalar <$in>;
}

# The first sentence after "<name> - " in a header; undef if there is none.
sub header_sentence
{
	my ($text, $name) = @_;
	$text =~ m{/\*+[\s*]*\Q$name\E - (.*?)\*/}s or return;
	my $words = $1;
	$words =~ s/\n[ \t]*\*[ \t]*/ /g;
	$words =~ s/\s+/ /g;
	$words =~ s/ $//;
	# leave out references to documents and headers
	$words =~ s/ \((?:docs\/|[a-z_]+\.h\b)[^)]*\)//g;
	return $words =~ /^(.*?)[.:](?: |$)/ ? $1 : $words;
}

# The text after "<name> - " in the second line of a .c; undef if there is none.
sub source_line
{
	my ($text, $name) = @_;
	return $text =~ m{\A[^\n]*\n/\* \Q$name\E - (.*) \*/\n} ? $1 : undef;
}

sub row
{
	my ($top, $path) = @_;
	my ($name) = $path =~ m{([^/]+)$};
	my $header = -e "$top/src/$path.h";
	my $file = "src/$path." . ($header ? 'h' : 'c');
	my $text = read_file("$top/$file");
	my $is = $header ? header_sentence($text, $name) : source_line($text, $name);

	if (!defined $is) {
		complain($header ? "$file: no comment '$name - <what it is>'" :
			 "$file: the second line is not '/* $name - <what it is> */'");
		return '';
	}
	complain("$file: '$is' is longer than $MOST characters") if length $is > $MOST;
	$is =~ s/\|/\\|/g;
	$is =~ s/</&lt;/g;
	return "| `$path` | $is |\n";
}

sub folder
{
	my ($path) = @_;
	return $path =~ m{^(.*)/} ? $1 : '';
}

sub table
{
	my ($top) = @_;
	my %seen;

	-d "$top/src" or give_up("'$top' has no directory src");
	find({ no_chdir => 1, wanted => sub {
		$seen{$1} = 1 if m{^\Q$top\E/src/(.+)\.[ch]$};
	} }, "$top/src");
	my @path = sort { folder($a) cmp folder($b) || $a cmp $b } keys %seen;
	give_up("'$top/src' has no source file") if !@path;
	return "| file | what it is |\n| --- | --- |\n" . join '', map { row($top, $_) } @path;
}

# The document with the table below the heading replaced.
sub with_table
{
	my ($document, $table) = @_;
	$document =~ s{^(\Q$HEADING\E\n.*?)^\|.*?(?=^[^|]|\z)}{$1$table}ms or
		give_up("docs/architecture.md has no table below '$HEADING'");
	return $document;
}

my $mode = @ARGV && $ARGV[0] =~ /^--(write|check)$/ ? do { shift @ARGV; $1 } : 'print';
my $top = shift @ARGV // '.';
give_up('usage: tests/files.pl [--write | --check] [<top of the tree>]') if @ARGV || $top =~ /^-/;
my $table = table($top);

if ($mode eq 'print') {
	print $table;
} else {
	my $path = "$top/docs/architecture.md";
	my $document = read_file($path);
	my $wanted = with_table($document, $table);

	if ($mode eq 'check') {
		complain("$path: the table of files is out of date; " .
			 "run: tests/files.pl --write") if $wanted ne $document;
	} elsif (!$failed) {
		open my $out, '>', $path or give_up("cannot write '$path': $!");
		print $out $wanted;
		close $out or give_up("cannot write '$path': $!");
	}
}
exit $failed;
