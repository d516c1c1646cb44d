# SPDX-License-Identifier: Apache-2.0
# server.sh - a fake chat server (tests/fake/chatd) and a walk that uses it. Source it after scale.sh and answers.sh.
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE
unset ANTHROPIC_API_KEY OPENAI_API_KEY

key=sk-test-1f0c9e7d5b3a8642
walk=klineage/walk/scale/x
lineage=klineage/lineage/scale/x
chat=refs/klineage/chat/scale/x
ledger=refs/klineage/ledger/scale

# servers exit when this descriptor is closed
mkfifo life && exec 9<>life

# line <JSON members> [<file>]: print a line of a server script; the file has the text of the reply
line () {
	perl -MJSON::PP -e 'my $j = decode_json("{$ARGV[0]}");
		if ($ARGV[1]) { local $/; open(my $f, "<", $ARGV[1]) or die; $j->{text} = <$f>; }
		print encode_json($j), "\n"' "$@"
}

# serve <name> [<option>...]: start a server that follows <name>.script; sets $port, logs requests to <name>.log
serve () {
	name=$SHARNESS_TRASH_DIRECTORY/$1 && shift && rm -f "$name.port" && : >"$name.log" &&
	{ "$KLINEAGE_BUILD/tests/chatd" --script "$name.script" --log "$name.log" --key "$key" "$@" \
		<"$SHARNESS_TRASH_DIRECTORY/life" >"$name.port" 9>&- & } &&
	n=0 && until test -s "$name.port"; do n=$((n + 1)) && test "$n" -lt 100 && sleep 0.1 || return 1; done &&
	port=$(cat "$name.port")
}

# asked <name>: print the number of requests; with_key <name>: succeed if all of them had the right key
asked () { wc -l <"$SHARNESS_TRASH_DIRECTORY/$1.log" | tr -d ' '; }
with_key () { test "$(grep -c '"key": *"right"' "$SHARNESS_TRASH_DIRECTORY/$1.log")" = "$(asked "$1")"; }

# kernel_and_script <more members of usage>: create the repository `base` with the judged kernel, and `first` and `last`,
# lines of a script in which the model simplifies the kernel and then finds nothing left
kernel_and_script () {
	(make_repo base && git config klineage.profileMs 100 && git klineage gate) && answers "$PWD/answers" &&
	git -C base show main~3:k/scale.c >plain.c &&
	answer step plain-loop plain.c && echo "<nothing-left>plain as can be</nothing-left>" >answers/end &&
	line "\"usage\":{\"input\":1000,\"output\":100$1}" answers/step >first &&
	line "\"usage\":{\"input\":10,\"output\":20}" answers/end >last
}

# fresh <repo> <provider>: copy `base` and configure a model and its price
fresh () {
	cp -R base "$1" && git -C "$1" config klineage.chat.provider "$2" && git -C "$1" config klineage.chat.model m-1 &&
	git -C "$1" config klineage.chat.price "input=3 output=15 cache-read=0.5" && git -C "$1" config klineage.chat.cache 5m
}

deopt () { KLINEAGE_CHAT_KEY=$key git klineage deopt "$@"; }
chat () { deopt --rewriter chat --no-rederive --name x "$@"; }
