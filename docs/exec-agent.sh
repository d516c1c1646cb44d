#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exec-agent.sh <agent> [<option>...] - make an agent's command line a provider `exec` of git-klineage:
#
#	git config klineage.chat.provider exec
#	git config klineage.chat.exec '/path/to/exec-agent.sh my-agent --print'
#
# The agent reads the conversation as text on its stdin and writes its answer to its stdout. Its
# stderr is shown if it fails. It runs in a directory without a repository.
# The formats are in formats.md, "Providers".
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
perl -MJSON::PP -0777 -ne '
	my $q = decode_json($_);
	binmode STDOUT, ":utf8";
	print "$_\n\n" for @{$q->{system}};
	print "# $_->{role}\n\n$_->{text}\n\n" for @{$q->{messages}};
' >"$work/prompt"
"$@" <"$work/prompt" >"$work/reply"
perl -MJSON::PP -0777 -ne '
	utf8::decode($_);
	print encode_json({ schema => "klineage.chat-reply/1", text => $_, unmetered => JSON::PP::true });
' "$work/reply"
