#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# mcp.pl <argument of git klineage mcp>... <script: a client of the Model Context Protocol. It starts the server with pipes,
# as clients do, and runs the perl script on stdin, which can use these functions:
#
#	hello([$version])		send initialize and initialized; return the result
#	ask($method, $params)		send a request; return its answer (with result or error)
#	call($tool, \%args)		send tools/call; return its result
#	send_it($message)		send a reference as a line of JSON, or text unchanged
#	next_message($seconds)		return the next message, or undef at the end
#	is($got, $want, $what), ok($true, $what)
#	close_in(), close_out()		close the server's input or output
#	end()				close the input, wait, return the exit status
#	ended($seconds)			wait at most so long; return the exit status, or undef
#	family()			return the processes below the server
#	gone($seconds, @pids)		wait at most so long; true if these processes have ended
#
# Notifications received while waiting for an answer are kept in @notes.
use strict;
use warnings;
use JSON::PP;
use IO::Select;
use IPC::Open3;
use POSIX ();

our ($pid, $in, $out, @notes);
our ($id, $buffer) = (0, '');
our $json = JSON::PP->new->canonical->allow_nonref;
our $T = JSON::PP::true;
our $F = JSON::PP::false;
$SIG{PIPE} = 'IGNORE';

sub fail { die "failed: @_\n" }
sub ok { my ($true, $what) = @_; $true or fail($what) }
sub is {
	my ($got, $want, $what) = map { ref $_ ? $json->encode($_) : $_ // 'undef' } @_;
	$got eq $want or fail("$what: got $got, wanted $want");
}
sub start { $pid = open3($in, $out, '>&STDERR', 'git-klineage', 'mcp', @ARGV); binmode $in; binmode $out }
sub send_it {
	my ($m) = @_;
	my $text = ref $m ? $json->encode($m) . "\n" : $m;
	while (length $text) {
		my $n = syswrite $in, $text;
		return 0 unless defined $n;
		substr($text, 0, $n) = '';
	}
	return 1;
}
sub next_message {
	my $left = shift // 60;
	my $end = time + $left;
	for (;;) {
		if ($buffer =~ s/^([^\n]*)\n//) {
			my $m = eval { $json->decode($1) };
			fail("the server wrote a line that is not JSON: $1") unless defined $m;
			return $m;
		}
		fail("no message within $left s") unless IO::Select->new($out)->can_read($end - time > 0 ? $end - time : 0);
		sysread($out, my $part, 65536) or return undef;
		$buffer .= $part;
	}
}
sub answer_to {
	my $wanted = shift;
	for (;;) {
		my $m = next_message(120);
		fail("the server closed its output") unless defined $m;
		if (ref $m eq 'HASH' && $m->{method}) { push @notes, $m; next }
		return $m if ref $m eq 'HASH' && defined $m->{id} && $m->{id} eq $wanted;
		fail('answer to another request: ' . $json->encode($m));
	}
}
sub ask {
	my ($method, $params) = @_;
	my $m = { jsonrpc => '2.0', id => ++$id, method => $method };
	$m->{params} = $params if defined $params;
	send_it($m);
	return answer_to($id);
}
sub call {
	my ($tool, $args) = @_;
	my $m = ask('tools/call', { name => $tool, arguments => $args // {} });
	fail("$tool: " . $json->encode($m)) unless $m->{result};
	return $m->{result};
}
sub text_of { join "\n", map { $_->{text} } @{ $_[0]{content} } }
sub hello {
	my $version = shift // '2025-11-25';
	my $m = ask('initialize', { protocolVersion => $version, capabilities => {},
		clientInfo => { name => 'test', version => '1' } });
	send_it({ jsonrpc => '2.0', method => 'notifications/initialized' });
	return $m->{result};
}
sub family {
	my (%below, @all);
	for my $f (glob '/proc/[0-9]*/stat') {
		open my $h, '<', $f or next;
		my $line = <$h> // '';
		push @{ $below{$2} }, $1 if $line =~ /^(\d+) \(.*\) \S (\d+)/;
	}
	for (my @todo = ($pid); @todo; ) {
		my $p = shift @todo;
		push @todo, @{ $below{$p} // [] };
		push @all, @{ $below{$p} // [] };
	}
	return @all;
}
sub is_there {	# a zombie counts as ended
	open my $h, '<', "/proc/$_[0]/stat" or return 0;
	return (<$h> // '') !~ /\) Z /;
}
sub gone {
	my ($seconds, @pids) = @_;
	for (my $end = time + $seconds; time <= $end; select undef, undef, undef, 0.05) {
		return 1 unless grep { is_there($_) } @pids;
	}
	return 0;
}
sub close_in { close $in }
sub close_out { close $out }
sub ended {
	my $end = time + shift;
	while (time <= $end) {
		if (waitpid($pid, POSIX::WNOHANG()) == $pid) { $pid = 0; return $? }
		select undef, undef, undef, 0.02;
	}
	return undef;
}
sub end { close_in(); my $s = ended(20); fail('the server does not exit') unless defined $s; return $s }

start();
my $script = do { local $/; <STDIN> };
eval "package main; no strict 'vars'; $script; 1" or do {
	print STDERR $@;
	kill 'KILL', $pid if $pid;
	exit 1;
};
is(end(), 0, 'exit status') if $pid;
exit 0;
