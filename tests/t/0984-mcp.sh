#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage mcp, as a client of the Model Context Protocol meets it'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

# client [<argument of mcp>...]: runs a script from stdin with what mcp.pl has
client () {
	perl "$KLINEAGE_TOP/tests/t/mcp.pl" "$@"
}

test_expect_success 'a repository' '
	(make_repo r) && cd r && git rev-parse HEAD >../head
'
cd "$SHARNESS_TRASH_DIRECTORY/r" || exit 1
PLAIN=$(git show HEAD~2:k/scale.c) && export PLAIN

# --- the handshake, and without ---------------------------------------------------

test_expect_success 'each revision is agreed on, an unknown one becomes the latest; what it does not know is left out' '
	client <<-\E
		for my $v ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2031-01-01") {
			my $r = hello($v);
			is($r->{protocolVersion}, $v eq "2031-01-01" ? "2025-11-25" : $v, $v);
			is($r->{capabilities}, "{\"tools\":{}}", "capabilities");
			is($r->{serverInfo}{name}, "git-klineage", "name");
			my $t = ask("tools/list")->{result}{tools}[0];
			is($t->{name}, "gate", "first tool");
			is(exists $t->{annotations} ? 1 : 0, $v gt "2025-03" ? 1 : 0, "annotations in $v");
			is(exists $t->{outputSchema} ? 1 : 0, $v gt "2025-06" ? 1 : 0, "outputSchema in $v");
			is(exists call("log")->{structuredContent} ? 1 : 0, 0, "an error has no structure");
			is(ask("ping")->{result}, "{}", "ping");
		}
	E
'

test_expect_success 'a revision without handshake: each request for itself' '
	client <<-\E
		sub meta { my $v = shift; { _meta => { "io.modelcontextprotocol/protocolVersion" => $v,
			"io.modelcontextprotocol/clientCapabilities" => {} }, @_ } }
		my $m = ask("tools/list", {});
		is($m->{error}{code}, -32600, "no handshake and no revision");
		$m = ask("server/discover", meta("2026-07-28"))->{result};
		ok((grep { $_ eq "2026-07-28" } @{ $m->{supportedVersions} }), "revision is listed");
		ok((grep { $_ eq "2025-11-25" } @{ $m->{supportedVersions} }), "an older one, too");
		is($m->{resultType}, "complete", "resultType");
		is($m->{_meta}{"io.modelcontextprotocol/serverInfo"}{name}, "git-klineage", "serverInfo");
		ok($m->{ttlMs} > 0 && $m->{cacheScope} eq "public", "may be cached");
		$m = ask("tools/list", meta("2026-07-28"))->{result};
		ok(@{ $m->{tools} } >= 5 && $m->{ttlMs}, "tools");
		$m = ask("tools/call", meta("2026-07-28", name => "deopt_status"))->{result};
		is($m->{resultType}, "complete", "of a call");
		is($m->{isError}, $T, "no walk");
		is(ask("tools/list", meta("1900-01-01"))->{error}{code}, -32022, "unknown revision");
		is(ask("tools/list", meta(7))->{error}{code}, -32602, "no revision");
		is(ask("tools/list", { _meta => { "io.modelcontextprotocol/protocolVersion" => "2026-07-28" } })->{error}{code},
			-32602, "no capabilities");
		is(ask("ping", meta("2026-07-28"))->{error}{code}, -32601, "ping is gone");
		is(ask("server/discover", {})->{error}{code}, -32602, "discover without a revision");
		is(hello()->{protocolVersion}, "2025-11-25", "an old client beside it");
		is(ask("ping")->{result}, "{}", "ping");
	E
'

test_expect_success 'tools say what they want, whether they write, and refuse what they did not ask for' '
	client <<-\E
		hello();
		my %t = map { $_->{name} => $_ } @{ ask("tools/list")->{result}{tools} };
		is([sort keys %t], "[" . join(",", map { "\"$_\"" } qw(card deopt_end deopt_start deopt_status deopt_step gate log materialize retrieve show step)) . "]", "tools");
		for (values %t) {
			is($_->{inputSchema}{type}, "object", $_->{name});
			is($_->{inputSchema}{additionalProperties}, $F, $_->{name});
			is($_->{annotations}{readOnlyHint}, ($_->{name} =~ /^(gate|materialize|step|deopt_(start|step|end))$/ ? $F : $T), $_->{name});
		}
		is($t{deopt_end}{annotations}{destructiveHint}, $T, "deopt_end may forget");
		is($t{gate}{annotations}{destructiveHint}, $F, "gate does not");
		my $takes = join " ", map { keys %{ $_->{inputSchema}{properties} } } values %t;
		ok($takes !~ /\b(exec|command|runner|jail|rewriter|output|dir|file)\b/, "no tool takes a command, a runner or a jail: $takes");
		is(ask("tools/list", { cursor => "x" })->{error}{code}, -32602, "a cursor");
	E
'

# --- the tools ------------------------------------------------------------------------

test_expect_success 'gate: the worktree passes, a wrong edit fails with its element, a commit gets its note' '
	client <<-\E &&
		hello();
		my $r = call("gate", { fast => $T });
		is($r->{isError}, $F, "pass");
		is($r->{structuredContent}{exit}, 0, "exit");
		is($r->{structuredContent}{result}{verdict}, "pass", "verdict");
		is($json->decode($r->{content}[0]{text}), $json->encode($r->{structuredContent}), "text and structure");
		system("cp k/scale.c keep && sed -i \"s/i < n; i++)/i + 1 < n; i++)/\" k/scale.c");
		$r = call("gate", { fast => $T, workload => "scale" });
		is($r->{isError}, $F, "a failure is an answer");
		is($r->{structuredContent}{exit}, 1, "exit");
		is($r->{structuredContent}{result}{verdict}, "fail", "verdict");
		ok($r->{structuredContent}{result}{message} =~ /y\[\d+\]/, "first wrong element");
		system("mv keep k/scale.c");
		$r = call("gate", { rev => "HEAD~2", profile => $F });
		is($r->{structuredContent}{result}{verdict}, "pass", "of a commit");
		$r = call("gate", { rev => "nothing-there" });
		is($r->{isError}, $T, "no such commit");
		ok(text_of($r) =~ /nothing-there/, "which one: " . text_of($r));
		$r = call("gate", { rev => "HEAD", staged => $T });
		is($r->{isError}, $T, "both");
		$r = call("gate", { workload => "other" });
		is($r->{isError}, $T, "no such contract");
	E
	git notes --ref=klineage/gate show HEAD~2 | grep "\"verdict\":\"pass\"" &&
	test -z "$(git status --porcelain)"
'

test_expect_success 'arguments that are none: of wrong types, unknown, or made to look like options' '
	client <<-\E &&
		hello();
		my @bad = (
			["gate", { rev => "--import=x" }], ["gate", { rev => "-h" }], ["gate", { rev => "a b" }],
			["gate", { rev => "HEAD\n--exec" }], ["gate", { rev => "" }], ["gate", { rev => ["HEAD"] }],
			["gate", { rev => "x" x 300 }], ["gate", { workload => "--jail=none" }], ["gate", { workload => "../x" }],
			["gate", { fast => "yes" }], ["gate", { fast => 1 }], ["gate", { jail => "none" }], ["gate", { runner => "ssh:x" }],
			["gate", { require => "slow" }], ["gate", { require => "fast|not-slower" }],
			["retrieve", { limit => 0 }], ["retrieve", { limit => "3" }], ["retrieve", { limit => 1e9 }],
			["retrieve", { status => "admitted" }], ["retrieve", { status => ["all"] }], ["retrieve", { status => [] }],
			["retrieve", { platform => "cpu; touch pwned" }], ["retrieve", { workload => "--help" }],
			["show", {}], ["show", { step => "--help" }], ["show", { step => "K_1", lineage => "a/b/c" }], ["show", { step => 1 }],
			["card", { card => "-x" }], ["card", {}], ["log", { lineage => "../../etc" }],
			["deopt_start", { exec => "touch pwned" }], ["deopt_start", { name => "A B" }], ["deopt_start", { expert => "--exec=touch pwned" }],
			["deopt_end", {}], ["deopt_end", { keep => "no" }],
			["materialize", { root => "--exec=touch pwned" }], ["materialize", { rewriter => "chat" }], ["materialize", { library => "/" }],
		);
		for (@bad) {
			my ($tool, $args) = @$_;
			my $r = call($tool, $args);
			is($r->{isError}, $T, $json->encode($_));
			my ($name) = (keys %$args);
			ok(text_of($r) =~ /$name/, $json->encode($_) . " says " . text_of($r)) if $name;
		}
		is(ask("tools/call", { name => "rm", arguments => {} })->{error}{code}, -32602, "unknown tool");
		is(ask("tools/call", { name => ["gate"] })->{error}{code}, -32602, "name");
		is(ask("tools/call", { name => "gate", arguments => [] })->{error}{code}, -32602, "arguments");
		is(ask("tools/call")->{error}{code}, -32602, "nothing");
	E
	test ! -e pwned && test -z "$(git for-each-ref refs/klineage/op)"
'

test_expect_success 'a walk, step by step: accepted, rejected, refused, kept; branch, index and worktree stay' '
	echo unstaged >>k/oracle.c && echo new >k/note && git add k/note && git status --porcelain >../before &&
	client <<-\E &&
		hello();
		my $step = { action => "unroll-off", mechanism => "unroll", traits => { unrolled => "no" },
			locus => "scale.c:scale", why => "one element at a time",
			edits => [{ path => "scale.c", text => $ENV{PLAIN} }] };
		my $r = call("deopt_step", $step);
		ok($r->{isError} && text_of($r) =~ /use deopt_start to begin a walk/, "no walk yet");
		$r = call("deopt_start", { name => "by-agent" })->{structuredContent};
		is($r->{exit}, 0, "started: " . $json->encode($r));
		is($r->{result}{waiting}, $T, "waits");
		ok(-e $r->{result}{edit_dir} . "/scale.c", "laid out");
		for my $bad (
			{ %$step, edits => [{ path => "../../escape.c", text => "x" }] },
			{ %$step, edits => [{ path => "klineage.yaml", text => "x" }] },
			{ %$step, edits => [{ path => "oracle.c", text => "x" }] },
			{ %$step, edits => [{ path => "scale.c", search => "nowhere", text => "x" }] },
			{ %$step, edits => [{ path => "scale.c", text => 1 }] },
			{ %$step, edits => [] }, { %$step, edits => {} },
			{ %$step, why => "a\n\nKlineage-Skill: x" }, { %$step, mechanism => "no-such-thing" },
			{ %$step, locus => "oracle.c" }, { %$step, traits => { tiled => "maybe" } },
		) {
			my $r = call("deopt_step", $bad);
			is($r->{isError}, $T, $json->encode($bad));
		}
		$r = call("deopt_status")->{structuredContent}{result};
		is($r->{phase}, "wait", "nothing has changed");
		is(scalar @{ $r->{rejections} }, 0, "and nothing was judged");
		$r = call("deopt_step", $step)->{structuredContent}{result};
		is($r->{judged}[0]{accepted}, $T, "accepted: " . $json->encode($r));
		is($r->{judged}[0]{event}{verdict}, "pass", "with its verdict");
		is($r->{steps}, 1, "steps");
		$r = call("deopt_step", { %$step, action => "cut", edits => [{ path => "scale.c",
			search => "\tfor (int64_t i = 0; i < n; i++)", text => "\tfor (int64_t i = 0; i + 1 < n; i++)" }] });
		is($r->{isError}, $F, "a rejection is an answer");
		$r = $r->{structuredContent}{result};
		is($r->{judged}[0]{accepted}, $F, "rejected");
		is($r->{judged}[0]{class}, "wrong-edge", "class");
		ok($r->{judged}[0]{event}{message} =~ /y\[4095\]/, "the first wrong element");
		$r = call("deopt_end", { keep => $T })->{structuredContent}{result};
		is($r->{lineage}, "refs/heads/klineage/lineage/scale/by-agent", "lineage");
		$r = call("log")->{structuredContent}{result};
		is(scalar @{ $r->{steps} }, 2, "log");
		$r = text_of(call("show", { step => "1" }));
		ok($r =~ /restore/ && $r =~ /^\+/m, "show");
		ok(text_of(call("show", { step => "K_1", diff => $F })) !~ /^\+/m, "without the edit");
		is(call("show", { step => "77" })->{isError}, $T, "no such step");
	E
	git log -1 --format="%(trailers:key=Klineage-Action,valueonly)%(trailers:key=Klineage-Origin,valueonly)%(trailers:key=Klineage-Rewriter,valueonly)" \
		klineage/walk/scale/by-agent | tr -d "\n" >got && test "$(cat got)" = unroll-offinducedstepwise && rm got &&
	git log --format=%s refs/klineage/rejected/scale/by-agent -1 | grep cut &&
	git klineage fsck && git status --porcelain >../after && test_cmp ../before ../after &&
	test "$(git rev-parse HEAD)" = "$(cat ../head)" && test "$(git symbolic-ref HEAD)" = refs/heads/main &&
	git reset -q --hard
'

test_expect_success 'a walk that asks others, too, is its owner'\''s alone; one that is forgotten leaves nothing' '
	mkdir ../p && git diff HEAD~2 HEAD~3 >../p/1.patch &&
	git klineage deopt --rewriter stepwise,patches:../p --name mine >out && says "stopped for an edit" out &&
	client <<-\E &&
		hello();
		for (["deopt_end", { keep => $F }], ["deopt_step", { action => "a", locus => "scale.c", why => "w", edits => [{ path => "scale.c", text => $ENV{PLAIN} }] }]) {
			my $r = call(@$_);
			ok($r->{isError} && text_of($r) =~ /rewriters that an agent may not run/, text_of($r));
		}
		is(call("deopt_status")->{structuredContent}{result}{phase}, "wait", "it may be looked at");
	E
	git klineage deopt --abort &&
	git klineage deopt --rewriter stepwise --rederive exec --exec cat --name mine >out && says "stopped for an edit" out &&
	client <<-\E &&
		hello();
		my $r = call("deopt_end", { keep => $F });
		ok($r->{isError} && text_of($r) =~ /re-derives steps with .exec., which an agent may not run/, text_of($r));
	E
	git klineage deopt --abort &&
	client <<-\E &&
		hello();
		call("deopt_start", { name => "y" });
		is(call("deopt_start", { name => "z" })->{isError}, $T, "one at a time");
		is(call("deopt_end", { keep => $F })->{structuredContent}{exit}, 0, "forgotten");
	E
	test -z "$(git for-each-ref refs/klineage/op "refs/heads/klineage/*/scale/y")"
'

test_expect_success 'a step on the command line, from a file' '
	git klineage deopt --rewriter stepwise --name cli >out &&
	printf "{\"action\":\"a\",\"locus\":\"scale.c\",\"why\":\"w\",\"edits\":[{\"path\":\"scale.c\",\"function\":\"scale\",\"text\":\"%s\"}]}" \
		"void scale(int64_t n, const float *x, float *y)\\n{\\n\\tfor (int64_t i = 0; i < n; i++)\\n\\t\\ty[i] = x[i] * 3.0f + 1.0f;\\n}" >../step &&
	exits 129 git klineage deopt --step ../step 2>err &&
	exits 129 git klineage deopt --continue --step ../step --action b 2>err &&
	echo "{}" | exits 128 git klineage deopt --continue --step - 2>err && says "--step: " err &&
	git klineage deopt --continue --step ../step >out && says "1 step so far" out &&
	git klineage deopt --abort
'

test_expect_success 'an edit in the worktree is a step of the branch; one that is refused stays an edit' '
	head=$(git rev-parse HEAD) && echo "$PLAIN" | sed "s|y.i. = .*|for (volatile int k = 0; k < 60; k++)\n\t\t\ty[i] = x[i] * 3.0f + 1.0f;|" >k/scale.c && cp k/scale.c ../edited &&
	client <<-\E &&
		hello();
		my $r = call("step", { message => "scale: plainly" })->{structuredContent};
		is($r->{exit}, 1, "slower");
		is($r->{result}{commit}, undef, "not committed");
		is($r->{result}{refused}, "slower", "why");
		ok($r->{result}{next} =~ /allow-slow/, "and what to do");
		$r = call("step", { message => "scale: plainly", allow_slow => $T })->{structuredContent};
		is($r->{exit}, 0, "as asked");
		is($r->{result}{files}, "[\"k/scale.c\"]", "the files");
		$r = call("step", { card => "none" });
		ok($r->{isError} && text_of($r) =~ /hint: /, text_of($r));
		$r = call("step", {});
		ok($r->{isError} && text_of($r) =~ /nothing to do.*hint: /s, text_of($r));
		is(call("step", { message => "a\tb" })->{isError}, $T, "no tabs");
	E
	cmp k/scale.c ../edited && test "$(git rev-parse HEAD^)" = $head && test "$(git log -1 --format=%s)" = "scale: plainly" && git diff --quiet HEAD &&
	git reset -q --hard $head
'

test_expect_success 'read-only: nothing that writes is offered, and the gate notes nothing' '
	git for-each-ref >../before &&
	client --read-only <<-\E &&
		hello();
		my @t = @{ ask("tools/list")->{result}{tools} };
		ok(!(grep { $_->{name} =~ /^(materialize|step|deopt_(start|step|end))$/ } @t), "none that writes");
		ok(!(grep { !$_->{annotations}{readOnlyHint} } @t), "all say so");
		is(ask("tools/call", { name => "deopt_start", arguments => {} })->{error}{code}, -32602, "nor can it be called");
		is(call("gate", { rev => "HEAD", profile => $F })->{structuredContent}{result}{verdict}, "pass", "judged");
	E
	git for-each-ref >../after && test_cmp ../before ../after
'

test_expect_success 'retrieve and card, with a library and without' '
	client <<-\E &&
		hello();
		my $r = call("retrieve", { workload => "scale" });
		is($r->{structuredContent}{exit}, 1, "no card: " . text_of($r));
		is(call("card", { card => "loop" })->{isError}, $T, "no such card");
		is(call("materialize", { dry_run => $T })->{isError}, $T, "nothing to make commits of");
	E
	git klineage lift --dry-run >/dev/null 2>&1; git klineage lift >out &&
	card=$(git klineage skills list --json | grep -o "\"id\":\"[^\"]*\"" | head -n 1 | cut -d\" -f4) && test -n "$card" &&
	CARD=$card client <<-\E
		hello();
		my $r = call("card", { card => $ENV{CARD} })->{structuredContent}{result};
		is($r->{id}, $ENV{CARD}, "card");
		$r = call("retrieve", { workload => "scale", rev => "HEAD~2", status => ["hypothesis", "admitted"], explain => $T, limit => 3 });
		ok(!$r->{isError} && $r->{structuredContent}{result}{schema} eq "klineage.retrieve/1", text_of($r));
		ok(call("materialize", { workload => "scale", one => $T, dry_run => $T })->{isError}, "a step is no dry run");
		$r = call("materialize", { workload => "scale", root => "HEAD~2", status => ["hypothesis"], dry_run => $T });
		ok(!$r->{isError} && $r->{structuredContent}{result}{dry_run}, text_of($r));
	E
'

# --- hostile messages ------------------------------------------------------------------

test_expect_success 'what is no message is answered with its code, and the next one is served' '
	client <<-\E
		hello();
		my @bad = (
			["{", -32700], ["nul", -32700], ["\"x\"", -32700], ["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\0ng\"}", -32700],
			["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700], ["{\"a\":\"\\u0000\"}", -32700],
			["{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}", -32700],
			["[" x 100000, -32700], ["{\"a\":" x 100000, -32700],
			["[]", -32600], ["[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600], ["{}", -32600],
			["{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600],
			["{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600], ["{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600],
			["{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600], ["{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", -32600],
			["{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}", -32700],
			["{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"ping\"}", -32700],
			["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", -32600], ["{\"jsonrpc\":\"2.0\",\"id\":1}", -32600],
			["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}", -32602],
			["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}", -32601], ["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", -32601],
			["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"notifications/cancelled\"}", -32601],
			["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":[]}}", -32602],
		);
		for (@bad) {
			send_it("$_->[0]\n");
			my $m = next_message();
			is($m->{error}{code}, $_->[1], substr($_->[0], 0, 80));
			is(ask("ping")->{result}, "{}", "and on");
		}
		for my $id ("\"a\"", "\"\"", "0", "-7", "9007199254740993", "\"\\u00e9\\n\"") {
			send_it("{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"ping\"}\n");
			is(next_message(), $json->encode({ jsonrpc => "2.0", result => {}, id => $json->decode("[$id]")->[0] }), "id $id");
		}
		for ("{\"jsonrpc\":\"2.0\",\"method\":\"unknown/thing\"}", "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"gate\"}}",
			"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":7}", "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}", "", "   ", "\r",
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{\"a\":[]}}}") {
			send_it("$_\n");
		}
		is(ask("ping")->{result}, "{}", "notifications, answers and blank lines are not answered");
	E
'

test_expect_success 'a message of 50 MB is refused as it comes, and not kept' '
	client <<-\E
		hello();
		send_it("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"gate\",\"arguments\":{\"rev\":\"");
		send_it("x" x 1000000) for 1 .. 50;
		send_it("\"}}}\n");
		is(next_message()->{error}{code}, -32700, "refused");
		is(ask("ping")->{result}, "{}", "and on");
		send_it("y" x 1000000) for 1 .. 50;
		is(next_message()->{error}{code}, -32700, "refused before its end");
		send_it("\n");
		is(ask("ping")->{result}, "{}", "and on");
		open my $h, "<", "/proc/$pid/status" or die;
		my ($peak) = map { /^VmHWM:\s+(\d+) kB/ } <$h>;
		ok($peak < 40000, "$peak kB in memory at most");
	E
'

test_expect_success 'batches, in the revision that has them' '
	client <<-\E
		hello("2025-03-26");
		send_it([{ jsonrpc => "2.0", id => "a", method => "ping" }, { jsonrpc => "2.0", method => "notifications/x" }, 7,
			{ jsonrpc => "2.0", id => "b", method => "tools/call", params => { name => "deopt_status" } },
			{ jsonrpc => "2.0", id => "c", method => "tools/call", params => { name => "show", arguments => { step => "1" } } }]);
		my $m = next_message();
		is(scalar @$m, 4, "one answer for each request and for what is none");
		is([sort map { $_->{id} // "null" } @$m], "[\"a\",\"b\",\"c\",\"null\"]", "ids");
		send_it("[]\n");
		is(next_message()->{error}{code}, -32600, "empty");
		send_it([map { { jsonrpc => "2.0", method => "n" } } 1 .. 10]);
		is(ask("ping")->{result}, "{}", "a batch of notifications has no answer");
		send_it([map { { jsonrpc => "2.0", id => $_, method => "ping" } } 1 .. 100]);
		is(next_message()->{error}{code}, -32600, "too many");
	E
'

# --- several at once, and the end -----------------------------------------------------------

test_expect_success 'calls run at once, a ping is answered between them; progress is told to who asked, in order' '
	client <<-\E
		hello();
		send_it({ jsonrpc => "2.0", id => "g$_", method => "tools/call", params => { name => "gate",
			arguments => { rev => "HEAD~2", fresh => $T, profile => $F }, _meta => { progressToken => "t$_" } } }) for 1, 2;
		send_it({ jsonrpc => "2.0", id => "g1", method => "tools/call", params => { name => "log", arguments => {} } });
		send_it({ jsonrpc => "2.0", id => "p", method => "ping" });
		my (@order, %last);
		while (@order < 4) {
			my $m = next_message(120);
			if ($m->{method}) {
				is($m->{method}, "notifications/progress", "progress");
				my $p = $m->{params};
				ok($p->{progress} > ($last{$p->{progressToken}} // 0), "it grows");
				ok(length $p->{message}, "it says what");
				$last{$p->{progressToken}} = $p->{progress};
				next;
			}
			push @order, $m->{id} . ($m->{error} ? "!" : "");
			is($m->{result}{structuredContent}{result}{verdict}, "pass", $m->{id}) if $m->{result}{content};
			ok(!$m->{error} || $m->{error}{code} == -32600, "the id of a running call");
		}
		is([@order[0, 1]], "[\"g1!\",\"p\"]", "before the gates");
		is([sort @order[2, 3]], "[\"g1\",\"g2\"]", "both gates");
		is([sort keys %last], "[\"t1\",\"t2\"]", "both told");
	E
'

test_expect_success 'more calls than are run at once are all answered' '
	client <<-\E
		hello();
		send_it({ jsonrpc => "2.0", id => $_, method => "tools/call", params => { name => "deopt_status", arguments => {} } }) for 1 .. 80;
		my %seen;
		$seen{next_message()->{id}}++ for 1 .. 80;
		is(scalar keys %seen, 80, "each once");
	E
'

# a gate that takes its time: nothing ends a profile before its limit
test_expect_success 'cancelled in the middle, the programs end, no answer comes, and the next call is served' '
	git config --unset klineage.profileMs &&
	client <<-\E
		hello();
		send_it({ jsonrpc => "2.0", id => "long", method => "tools/call", params => { name => "gate",
			arguments => { rev => "HEAD~2", fresh => $T }, _meta => { progressToken => 1 } } });
		next_message();
		my @family;
		for (1 .. 600) {
			@family = family();
			last if @family >= 2;
			select undef, undef, undef, 0.05;
		}
		ok(@family >= 2, "the gate and its worker run");
		send_it({ jsonrpc => "2.0", method => "notifications/cancelled", params => { requestId => "other" } });
		send_it({ jsonrpc => "2.0", method => "notifications/cancelled", params => { requestId => "long", reason => "enough" } });
		ok(gone(10, @family), "they are gone");
		is(ask("ping")->{result}, "{}", "ping");
		is(call("deopt_status")->{isError}, $T, "another call");
		ok(!(grep { $_->{method} eq "notifications/progress" && $_->{params}{progress} > 1000 } @notes), "no more of it");
	E
'

for how in 'close_in()' 'close_out()' 'kill "KILL", $pid' 'kill "TERM", $pid'
do
	test_expect_success "a client that goes away in the middle of a gate ($how): nothing is left running" '
		HOW=$how client <<-\E
			hello();
			send_it({ jsonrpc => "2.0", id => $_, method => "tools/call", params => { name => "gate",
				arguments => { rev => "HEAD~$_", fresh => $T } } }) for 0, 2;
			my @family;
			for (1 .. 600) {
				@family = family();
				last if @family >= 4;
				select undef, undef, undef, 0.05;
			}
			ok(@family >= 4, "two gates run: @family");
			eval $ENV{HOW};
			my $status = ended(10);
			ok(defined $status, "the server ends");
			is($status, $ENV{HOW} =~ /KILL/ ? 9 : 0, "its status");
			ok(gone(10, @family), "and all of @family");
		E
	'
done

test_expect_success 'requests from a file are answered as far as they are answered at once; the end is clean' '
	printf "%s\n%s" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}" \
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}" >../requests &&
	git klineage mcp <../requests >../answers && test "$(wc -l <../answers)" = 2 && says "\"id\":2" ../answers &&
	git klineage mcp </dev/null >../answers && test ! -s ../answers &&
	exits 129 git klineage mcp now </dev/null 2>err && (cd / && exits 128 git klineage mcp </dev/null 2>"$HOME/err")
'

# --- docs/agents.md -----------------------------------------------------------------------

test_expect_success 'docs/agents.md: what it tells clients to start is this server, its tools are those, its step is a step' '
	cat >../doc.pl <<-\E &&
		use JSON::PP;
		my ($doc, $want) = @ARGV;
		open my $h, "<", $doc or die;
		my $text = join "", <$h>;
		my @json = $text =~ /^```json\n(.*?)^```/msg;
		die "few examples" unless @json >= 4;
		for (map { JSON::PP->new->decode($_) } @json) {
			my $s = $_->{mcpServers} // $_->{servers};
			print join("\t", "server", $s->{klineage}{command}, @{ $s->{klineage}{args} }), "\n" if $s;
			print "step\t", JSON::PP->new->canonical->encode($_), "\n" unless $s;
		}
		my ($toml) = $text =~ /^```toml\n(.*?)^```/ms;
		my ($args) = $toml =~ /^args = \[(.*)\]/m;
		print join("\t", "server", $toml =~ /^command = "(.*)"/m, $args =~ /"([^"]*)"/g), "\n";
		print "server\t", join("\t", split / /, $1), "\n" if $text =~ /claude mcp add .* -- (.*)/;
		my %tools = map { $_ => 1 } map { /`(\w+)`/g } $text =~ /^\| (`.*?) \|/mg;
		print join("\t", "tools", sort keys %tools), "\n";
	E
	perl ../doc.pl "$KLINEAGE_TOP/docs/agents.md" >../said && test "$(grep -c "^server" ../said)" = 5 &&
	grep "^server" ../said | while IFS="	" read -r what line; do
		set -f && old=$IFS && IFS="	" && set -- $line && IFS=$old && set +f &&
		test "$1" = git && shift &&
		if test "$1" = -C; then shift 2; fi &&
		git "$@" <../requests >../answers && says "git-klineage" ../answers || exit 1
	done &&
	client >../have <<-\E &&
		hello();
		print join("\t", "tools", sort map { $_->{name} } @{ ask("tools/list")->{result}{tools} }), "\n";
	E
	grep "^tools" ../said >../want && test_cmp ../want ../have &&
	git klineage deopt --rewriter stepwise --name doc >out &&
	sed -n "s/^step	//p" ../said | exits 128 git klineage deopt --continue --step - 2>err &&
	says "is not a file of this kernel" err && git klineage deopt --abort
'

test_done
