# SPDX-License-Identifier: Apache-2.0
#
# Tree - measures a tree of C files, using Scan for each file and ctags for names.
package Tree;
use strict;
use warnings;
use File::Find;
use File::Temp;
use Scan;

sub folder
{
	my ($path) = @_;
	return $path =~ m{^(.*)/} ? $1 : '.';
}

sub at_share
{
	my ($share, @n) = @_;
	my @sorted = sort { $a <=> $b } @n;
	return @sorted ? $sorted[int($share * (@sorted - 1) + 0.5)] : 0;
}

sub percent
{
	my ($part, $whole, $places) = @_;
	return '-' if !$whole;
	return sprintf '%.' . ($places // 1) . 'f %%', 100 * $part / $whole;
}

sub spread
{
	my ($shares, @n) = @_;
	return join ' / ', map { at_share($_, @n) } @$shares;
}

# Return the strongly connected components of {node => {node => 1}} with more than one node.
sub cycles
{
	my ($edge) = @_;
	my (%index, %low, %on, @stack, @found);
	my $next = 0;
	my $visit;

	$visit = sub {
		my ($v) = @_;
		no warnings 'recursion';
		$index{$v} = $low{$v} = $next++;
		push @stack, $v;
		$on{$v} = 1;
		for my $w (sort keys %{$edge->{$v} || {}}) {
			if (!defined $index{$w}) {
				$visit->($w);
				$low{$v} = $low{$w} if $low{$w} < $low{$v};
			} elsif ($on{$w} && $index{$w} < $low{$v}) {
				$low{$v} = $index{$w};
			}
		}
		return if $low{$v} != $index{$v};
		my @part;
		do {
			push @part, pop @stack;
			$on{$part[-1]} = 0;
		} while $part[-1] ne $v;
		push @found, [sort @part] if @part > 1;
	};
	defined $index{$_} or $visit->($_) for sort keys %$edge;
	undef $visit;
	return @found;
}

# Return how many headers of the tree a file includes, directly or indirectly.
sub reached
{
	my ($edge, $from) = @_;
	my %seen;
	my @todo = keys %{$edge->{$from} || {}};

	while (@todo) {
		my $v = pop @todo;
		next if $seen{$v}++;
		push @todo, keys %{$edge->{$v} || {}};
	}
	delete $seen{$from};
	return scalar keys %seen;
}

# Return {file => {header => 1}} with the headers of the tree only. An included path is relative to
# the top or to the folder of the including file.
sub include_graph
{
	my ($file) = @_;
	my %edge;

	for my $path (keys %$file) {
		$edge{$path} ||= {};
		for my $inc (@{$file->{$path}{includes}}) {
			my $name = substr $inc, 1;
			my $beside = folder($path) eq '.' ? $name : folder($path) . "/$name";
			my $is = $file->{$name} ? $name : $beside;
			1 while $is =~ s{[^/]+/\.\./}{};
			$edge{$path}{$is} = 1 if $file->{$is} && $is ne $path;
		}
	}
	return \%edge;
}

# Return {kind => [names, names with one letter]} for the kinds parameter, local and member, or
# undef without ctags.
sub names
{
	my ($top, @path) = @_;
	my $list = File::Temp->new;
	my %count;

	print $list map { "$top/$_\n" } @path;
	close $list;
	my @ctags = (qw(ctags --quiet=yes --options=NONE -f - -u --languages=C --map-C=+.h),
		     qw(--kinds-C=zlm --fields=K -I KL_AUTO+ -L), "$list");
	no warnings 'exec';
	open my $tags, '-|', @ctags or return;
	while (<$tags>) {
		next if /^!/ || !/^(\S+)\t.*\t(parameter|local|member)$/;
		$count{$2}[0]++;
		$count{$2}[1]++ if length $1 == 1;
	}
	return close $tags ? \%count : undef;
}

# Return {folder => [headers that other folders include, headers]}.
sub outside
{
	my ($file, $edge) = @_;
	my (%all, %used);

	for my $path (grep { /\.h$/ } keys %$file) {
		$all{folder($path)}++;
	}
	for my $path (keys %$edge) {
		for my $header (grep { /\.h$/ } keys %{$edge->{$path}}) {
			$used{folder($header)}{$header} = 1 if folder($header) ne folder($path);
		}
	}
	return { map { $_ => [scalar keys %{$used{$_} || {}}, $all{$_}] } keys %all };
}

# Count two patterns that this project avoids: reading "vs" by its name, and tests for cuda outside
# of backend and worker. Return places and files of each.
sub by_hand
{
	my ($file) = @_;
	my ($vs, $cuda, %vs_file, %cuda_file) = (0, 0);

	for my $path (grep { /\.c$/ } keys %$file) {
		my @word = map { $_->[0] } @{$file->{$path}{tokens}};
		for my $i (0 .. $#word) {
			if ($word[$i] eq '"vs"') {
				$vs++;
				$vs_file{$path} = 1;
			}
			next if $path =~ m{(?:^|/)(?:backend|worker)/};
			if ($word[$i] =~ /^(?:kl_contract_is_cuda|"cuda")$/ ||
			    ($word[$i] eq 'host' && $i > 1 && "$word[$i - 2]$word[$i - 1]" eq '->')) {
				$cuda++;
				$cuda_file{$path} = 1;
			}
		}
	}
	return ($vs, scalar keys %vs_file, $cuda, scalar keys %cuda_file);
}

sub files
{
	my ($top) = @_;
	my %file;

	find({ no_chdir => 1, wanted => sub {
		return $File::Find::prune = 1 if m{/(?:\.git|build[^/]*)$} && -d;
		$file{$1} = Scan::file($_) if -f && m{^\Q$top\E/(.+\.[ch])$};
	} }, $top);
	return \%file;
}

sub sizes
{
	my ($file, $row) = @_;
	my @c = map { $file->{$_} } grep { /\.c$/ } keys %$file;
	my @h = map { $file->{$_} } grep { /\.h$/ } keys %$file;
	my ($lines, $full, $wide80, $wide100, $gotos) = (0) x 5;
	my %comment;

	for (@c, @h) {
		my $kind = substr $_->{path}, -1;
		$comment{$kind}[0] += $_->{comment_lines};
		$comment{$kind}[1] += $_->{full_lines};
		$full += $_->{lines};
		$wide80 += $_->{wide80};
		$wide100 += $_->{wide100};
	}
	for (@c) {
		$lines += $_->{lines};
		$gotos += $_->{gotos};
	}
	$row->('.c files / lines', @c . " / $lines");
	$row->('.h files', scalar @h);
	$row->('.c lines, median / p90 / max', spread([0.5, 0.9, 1], map { $_->{lines} } @c));
	$row->('.c under 100 lines', scalar grep { $_->{lines} < 100 } @c);
	$row->('comment, share of lines that are not blank, .h / .c',
	       join ' / ', map { percent(@{$comment{$_} || [0, 0]}) } qw(h c));
	$row->('lines over 80 columns', percent($wide80, $full));
	$row->('lines over 100 columns', $wide100);
	$row->('goto per 1000 lines of .c', $lines ? sprintf('%.1f', 1000 * $gotos / $lines) : '-');
	$row->('file-scope variables that are not const', scalar map { @{$_->{variables}} } @c, @h);
}

sub functions
{
	my ($file, $row) = @_;
	my (@function, %stands);

	for my $path (keys %$file) {
		push @function, @{$file->{$path}{functions}};
		$stands{$_->{name}}{$path} = 1 for @{$file->{$path}{functions}};
	}
	my $n = @function;
	my @static = grep { $_->{file_static} } @function;
	$row->('functions', $n);
	$row->('function lines, median / p90 / p99 / max',
	       spread([0.5, 0.9, 0.99, 1], map { $_->{lines} } @function));
	$row->('functions over 60 lines', scalar grep { $_->{lines} > 60 } @function);
	$row->('functions that nest deeper than 3',
	       percent(scalar(grep { $_->{nesting} > 3 } @function), $n, 2));
	$row->('functions with 6 parameters or more',
	       percent(scalar(grep { $_->{parameters} >= 6 } @function), $n));
	$row->('one-word function names, share of all / of static ones', join ' / ',
	       map { my $of = $_; percent(scalar(grep { $_->{name} !~ /_/ } @$of), scalar @$of) }
	       \@function, \@static);
	$row->('functions whose name is defined in 3 files or more',
	       percent(scalar(grep { keys %{$stands{$_->{name}}} >= 3 } @function), $n));
}

sub letters
{
	my ($top, $file, $row) = @_;
	my $count = names($top, sort keys %$file);

	$row->('one-letter parameters / locals / members', $count ? join ' / ',
	       map { percent($count->{$_}[1] // 0, $count->{$_}[0] // 0) } qw(parameter local member) :
	       'ctags is not installed');
}

sub order
{
	my ($file, $row, $detail) = @_;
	my $edge = include_graph($file);
	my @c = grep { /\.c$/ } keys %$file;
	my (%header_edge, %folder_edge, %holds);

	for my $path (keys %$edge) {
		$holds{folder($path)}++;
		for my $other (keys %{$edge->{$path}}) {
			$header_edge{$path}{$other} = 1 if $path =~ /\.h$/;
			$folder_edge{folder($path)}{folder($other)} = 1 if folder($path) ne folder($other);
		}
	}
	$row->('includes per .c, median / max',
	       spread([0.5, 1], map { scalar @{$file->{$_}{includes}} } @c));
	$row->('headers of the tree a .c reaches, median / max',
	       spread([0.5, 1], map { reached($edge, $_) } @c));
	$row->('header cycles', scalar cycles(\%header_edge));
	$row->('folders', scalar keys %holds);
	$row->('files per folder, median / max', spread([0.5, 1], values %holds));
	my @circle = cycles(\%folder_edge);
	$row->('folder cycles', scalar @circle);
	push @$detail, map { "folders that include each other: @$_" } @circle;

	my $outside = outside($file, $edge);
	my ($used, $all) = (0, 0);
	for (sort keys %$outside) {
		$used += $outside->{$_}[0];
		$all += $outside->{$_}[1];
		push @$detail, sprintf '%-24s %3d of %3d headers are included from other folders', $_,
			@{$outside->{$_}};
	}
	$row->('headers included from other folders', "$used of $all");
}

# Measure the tree at $top. Return rows [name, value], and detail lines for --rooms.
sub measure
{
	my ($top) = @_;
	my (@rows, @detail);
	my $row = sub { push @rows, [@_] };
	my $file = files($top);

	die "house: no .c or .h file in '$top'\n" if !%$file;
	sizes($file, $row);
	functions($file, $row);
	letters($top, $file, $row);
	order($file, $row, \@detail);
	my ($vs, $vs_files, $cuda, $cuda_files) = by_hand($file);
	$row->('"vs" read by its name, places / files', "$vs / $vs_files");
	$row->('tests for cuda outside backend, worker, places / files', "$cuda / $cuda_files");
	return (\@rows, \@detail);
}

1;
