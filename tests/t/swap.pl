#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# swap.pl <unpacked bundle> <member> <file>: print a bundle whose jobs have another file as the artefact <member>,
# with every digest as it should be
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use JSON::PP;

my ($dir, $member, $with) = @ARGV;
my $json = JSON::PP->new->canonical->ascii;

sub read_file
{
	my ($path) = @_;
	open my $in, '<:raw', $path or die "$path: $!";
	local $/;
	return scalar <$in>;
}

sub entry
{
	my ($name, $data) = @_;
	my $head = pack('a100 a8 a8 a8 a12 a12 A8 a1 a100 a6 a2 a32 a32 a8 a8 a155 a12', $name, '0000644', '0000000', '0000000',
		sprintf('%011o', length $data), '00000000000', '', '0', '', 'ustar', '00', '', '', '', '', '', '');

	substr($head, 148, 8) = sprintf("%06o\0 ", unpack('%32C*', $head));
	return $head . $data . "\0" x (-length($data) % 512);
}

my $bytes = read_file($with);
my $manifest = decode_json(read_file("$dir/manifest.json"));
my %file = map { $_ => read_file("$dir/$_") } map { $_->{name} } @{ $manifest->{files} };
$file{ 'files/' . sha256_hex($bytes) } = $bytes;
for my $job (@{ $manifest->{jobs} }) {
	my $doc = decode_json(delete $file{ $job->{job} });
	my $text;

	$doc->{$member} = 'files/' . sha256_hex($bytes);
	$text = $json->encode($doc);
	$job->{job} = 'jobs/' . sha256_hex($text) . '.json';
	$file{ $job->{job} } = $text;
	delete $job->{digest};
	$job->{digest} = sha256_hex($json->encode($job));
}
$manifest->{files} = [ map { { name => $_, size => length $file{$_}, sha256 => sha256_hex($file{$_}) } } sort keys %file ];
binmode STDOUT;
print entry($_, $file{$_}) for sort keys %file;
print entry('manifest.json', $json->encode($manifest)), "\0" x 1024;
