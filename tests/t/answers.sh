# SPDX-License-Identifier: Apache-2.0
# answers.sh - a fake model that answers from files, for the provider `exec`. Source this file. $ANSWERS is a directory:
# <phase>.<turn> is a reply, `log` gets a line for each request; at the request named in `slow` the model creates the file
# `at` and sleeps.

# answers <dir>: create the directory, with the model's program
answers () {
	ANSWERS=$1
	export ANSWERS
	mkdir -p "$ANSWERS" && : >"$ANSWERS/log" && cat >"$ANSWERS/model" <<'E'
use JSON::PP;
local $/;
my $q = decode_json(<STDIN>);
my $k = "$q->{phase}.$q->{turn}";
die "the command runs in a repository\n" if `git rev-parse --git-dir 2>/dev/null`;
open(my $l, '>>', "$ENV{ANSWERS}/log") or die;
print $l "$k\n";
close $l;
if (open(my $s, '<', "$ENV{ANSWERS}/slow")) {
	if (<$s> eq "$k\n") {
		open(my $a, '>', "$ENV{ANSWERS}/at");
		close $a;
		sleep 5;
	}
}
open(my $f, '<', "$ENV{ANSWERS}/$k") or die "no answer for $k\n";
print encode_json({ schema => 'klineage.chat-reply/1', text => scalar <$f>,
		    usage => { input => 1000, output => 100 } });
E
}

# answer <phase>.<turn> <action> <file> [<why>]: store a reply that replaces scale.c by <file>
answer () {
	{
		printf '<step>\naction: %s\nmechanism: -\nlocus: scale.c:scale\ntraits: -\nwhy: %s\n</step>\n' "$2" "${4:-it is simpler}"
		printf '<file path="scale.c">\n' && cat "$3" && printf '</file>\n'
	} >"$ANSWERS/$1"
}

model="perl \"\$ANSWERS/model\""
