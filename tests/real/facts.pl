#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# tests/real/facts.pl gate|reason|steps|tries|table - reads what the commands of run.sh printed, and prints the facts
# of a row as lines "<key> TAB <value>"; `table` reads the directories of rows on stdin and prints the table.
use strict;
use warnings;
use JSON::PP;

my $json = JSON::PP->new;

sub content {
	my ($path) = @_;
	open(my $file, '<', $path) or return '';
	local $/;
	return <$file> // '';
}

# document <path>: the JSON document on the last line that is one, or undef
sub document {
	my ($path) = @_;
	for my $line (reverse split /\n/, content($path)) {
		my $found = $line =~ /^\{/ ? eval { $json->decode($line) } : undef;
		return $found if $found;
	}
	return undef;
}

sub put {
	my ($key, $value) = @_;
	$value =~ s/[\t\n]+/ /g;
	print "$key\t$value\n";
}

# reason <file>...: the first line that says why, without the program's name
sub reason {
	for my $path (@_) {
		for my $line (split /\n/, content($path)) {
			next if $line =~ /^\s*$|^(hint|note|warning):|^waiting for /;
			$line =~ s/^(git-klineage|fatal|error): //;
			return $line;
		}
	}
	return '';
}

# gate <stage> <stdout> <stderr> <exit status>
sub gate {
	my ($stage, $out, $err, $status) = @_;
	my $event = document($out);
	if (!$event) {
		put("$stage-verdict", $status == 124 ? 'timeout' : 'none');
		put('reason', reason($err, $out));
		return;
	}
	put("$stage-verdict", $event->{verdict});
	put("$stage-class", $event->{class}) if $event->{class};
	put('reason', $event->{message} // join('; ', @{ $event->{notes} // [] })) if $event->{verdict} ne 'pass';
	put('static', join(', ', map { "$_->{kernel}: " . ($_->{registers} // '?') . ' registers' } @{ $event->{static} }))
		if ref $event->{static} eq 'ARRAY' && @{ $event->{static} };
}

# A step is real if it makes the kernel faster or slower by more than 2 % (the whole interval).
sub is_real {
	my ($step) = @_;
	my $pair = $step->{previous};
	return $pair && ($pair->{lo_ppm} > 1_020_000 || $pair->{hi_ppm} < 980_000);
}

sub steps {
	my $lineage = document($_[0]) or return;
	my @steps = grep { $_->{step} > 0 } @{ $lineage->{steps} };
	my @real = grep { is_real($_) } @steps;
	put('steps', scalar @steps);
	put('real', scalar @real);
	put('faster', scalar grep { $_->{previous}{lo_ppm} > 1_020_000 } @real);
	put('named', scalar grep { $_->{mechanism} && $_->{mechanism} ne '-' } @real);
	put('names', join(' ', map { $_->{mechanism} || '-' } @real));
	put('termination', $lineage->{termination} // '');
}

# A card applied if it gave a kernel that the gate judged, whatever the verdict: then the try has an event.
sub tries {
	my $run = document($_[0]) or return;
	my @tries = grep { $_->{card} && $_->{by} eq 'card' } @{ $run->{tries} };
	put('tries', scalar @tries);
	put('applied', scalar grep { $_->{event} } @tries);
	put('best', scalar grep { $_->{outcome} eq 'best' } @tries);
	# a transformation needs no resemblance to the code that a card was learned from; such a card is tried again after
	# each step that another one made, but counts once for a kernel
	my (%general, %acted);
	for my $try (@tries) {
		$general{ $try->{card} } = 1 if $try->{event} ? $try->{how} =~ /^by / : ($try->{why} // '') =~ /(?:^|; )there is no /;
		$acted{ $try->{card} } = 1 if $try->{event} && $try->{how} =~ /^by /;
	}
	put('general', scalar keys %general);
	put('acted', scalar keys %acted);
}

sub share {
	my ($what, $some, $all, $aim) = @_;
	printf "%-58s %3d of %3d  %s\n", $what, $some, $all,
		($all ? sprintf('%3.0f %%  ', 100 * $some / $all) : '') . ($aim ? "(aim $aim %)" : '');
}

sub language {
	return $_[0]{kernel} =~ /\.cuh?:/ ? 'cuda' : $_[0]{kernel} =~ /\.(cc|cpp|cxx|hpp|hh|hxx)\b/ ? 'c++' : 'c';
}

sub verdict {
	my ($row) = @_;
	my $word = $row->{'full-verdict'} // $row->{'quick-verdict'} // 'none';
	my $class = $row->{'full-class'} // $row->{'quick-class'};
	$word .= ' (quick)' if !$row->{'full-verdict'} && $row->{'quick-verdict'} && $word eq 'pass';
	return $class ? "$word $class" : $word;
}

sub table {
	my @rows;
	while (my $directory = <STDIN>) {
		chomp $directory;
		my %row = map { split /\t/, $_, 2 } grep { /\t/ } split /\n/, content("$directory/result");
		$row{name} = $directory =~ s,.*/,,r;
		push @rows, \%row;
	}
	printf "%-22s %-5s %-26s %6s %6s %6s  %-18s %-12s %s\n", 'kernel', 'from', 'verdict', 'adopt', 'quick', 'full',
		'steps real named', 'cards', 'what stood in the way';
	for my $row (@rows) {
		my $walk = defined $row->{steps} ? "$row->{steps} $row->{real} $row->{named}" : $row->{'asked-walk'} eq 'walk' ? 'none' : '-';
		my $cards = defined $row->{tries} ? "$row->{applied} of $row->{tries}" : '-';
		my $why = $row->{reason} // $row->{'walk-reason'} // '';
		$why = "needs $row->{needs}: $why" if $row->{needs} && $row->{needs} ne '-' && $why ne '';
		printf "%-22s %-5s %-26s %6s %6s %6s  %-18s %-12s %s\n", $row->{name}, $row->{how}, verdict($row),
			(map { $row->{$_} // '-' } qw(adopt quick full)), $walk, $cards, substr($why, 0, 160);
	}
	print "\n";
	for my $language (qw(c c++ cuda)) {
		my @those = grep { language($_) eq $language } @rows or next;
		share("$language: verdicts, sources untouched", scalar(grep { is_judged($_) } @those), scalar @those, 80);
	}
	share('verdicts, sources untouched', scalar(grep { is_judged($_) } @rows), scalar @rows, 80);
	my @compiled = grep { ($_->{'quick-verdict'} // '') eq 'compiled' } @rows;
	share('of those: compiled and audited without a GPU', scalar @compiled, scalar @rows, 0) if @compiled;
	my @walked = grep { defined $_->{steps} } @rows;
	my @asked = grep { $_->{'asked-walk'} eq 'walk' } @rows;
	share('lineages with at least 3 real steps', scalar(grep { $_->{real} >= 3 } @walked), scalar @asked, 60);
	my ($real, $named, $tried, $applied) = (0) x 4;
	($real, $named) = ($real + $_->{real}, $named + $_->{named}) for @walked;
	share('real steps with a name (a person says whether it is right)', $named, $real, 70);
	($tried, $applied) = ($tried + $_->{tries}, $applied + $_->{applied}) for grep { defined $_->{tries} } @rows;
	share('tries of cards that applied and were judged', $applied, $tried, 30);
	($tried, $applied) = (0, 0);
	($tried, $applied) = ($tried + $_->{general}, $applied + $_->{acted}) for grep { defined $_->{general} } @rows;
	share('cards with a transformation that applied, a kernel each', $applied, $tried, 30);
	my @carded = grep { defined $_->{tries} } @rows;
	share('kernels on which a card applied', scalar(grep { $_->{applied} } @carded), scalar @carded, 0);
	share('kernels that a card made faster', scalar(grep { $_->{best} } @carded), scalar @carded, 0);
}

# a pass, of the quick stages at least; device code on a machine without a GPU: compiled and audited
sub is_judged {
	my ($row) = @_;
	return !$row->{touched} && ($row->{'full-verdict'} // $row->{'quick-verdict'} // '') =~ /^(pass|compiled)$/;
}

my %verbs = (gate => \&gate, steps => \&steps, tries => \&tries, table => \&table,
	reason => sub { print reason(@_), "\n" });
my $verb = $verbs{ shift @ARGV // '' } or die "usage: facts.pl gate|reason|steps|tries|table ...\n";
$verb->(@ARGV);
