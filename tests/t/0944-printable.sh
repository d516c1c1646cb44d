#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='what others wrote commands no terminal: events, notes, commits, cards, file names, results, remotes, compilers'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

# ESC, OSC 52, BEL, CR, DEL, C1 as a character and as a byte, U+202E, U+2066, U+200B, U+2028, U+FEFF
bad=$(printf 'E\033[2J\033]52;c;cm0=\007R\r\177\302\2331m\342\200\256\342\201\246\342\200\213\342\200\250\357\273\277Z')
raw=$(printf '%s\233\377' "$bad")
# the same in JSON and YAML
json='E\u001b[2J\u001b]52;c;cm0=\u0007R\r\u007f\u009b1m\u202e\u2066\u200b\u2028\ufeffZ'

# safe <file>: valid UTF-8 without any of these
safe () {
	iconv -f UTF-8 -t UTF-8 "$1" >/dev/null || { echo "$1: no UTF-8"; return 1; }
	LC_ALL=C grep -a -n -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf' \
		"$1" | cat -v
	! LC_ALL=C grep -q -a -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf' "$1"
}

# ask <arguments>: run the verb in the repository r; what it prints is safe, and in the files out and err
ask () {
	(cd r && git klineage "$@") >out 2>err </dev/null
	test $? -lt 130 && safe out && safe err && return 0
	echo "not safe: $*" | cat -v
	return 1
}

# shown <file>: it has the text, made visible
shown () {
	says '\x1b]52;c;cm0=\x07R\x0d\x7f<U+009B>1m<U+202E><U+2066><U+200B><U+2028><U+FEFF>Z' "$1"
}

# forge <perl code on $j>: change an event, line by line, and make its id right
forge () {
	perl -MJSON::PP -MDigest::SHA=sha256_hex -e '
		my $json = JSON::PP->new->canonical->ascii;
		our $bad = $json->decode("[\"$ENV{json}\"]")->[0];
		sub line { my $t = $json->encode($_[0]); $t =~ s/\\u007f/\x7f/g; $t =~ s/(?<!\\)\\u([0-9a-f]{4})/\\u\U$1/g; $t }
		while (<STDIN>) {
			/^\{/ or next;
			our $j = $json->decode($_);
			delete $j->{id}; eval $ARGV[0]; die $@ if $@;
			my %part = map { $_ => $j->{$_} } grep { !/^(sig|commit|tree)$/ } keys %$j;
			$j->{id} = sha256_hex(line(\%part));
			print line($j), "\n";
		}' "$1"
}
export json raw bad

test_expect_success 'the check finds each of them' '
	printf "plain \303\244 \360\237\231\202\n\ttext\n" >file && safe file &&
	for c in "\033" "\007" "\015" "\177" "\302\233" "\233" "\342\200\256" "\342\201\251" "\342\200\217" "\330\234" "\342\200\213" \
		"\342\200\251" "\357\273\277" "\303"; do
		printf "a${c}b\n" >file && ! safe file || { echo "$c"; return 1; }
	done
'

test_expect_success 'a lineage whose commits, files and events were written by somebody hostile' '
	git init -q r && (
		cd r && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-topk" >/dev/null &&
		ref=$(git for-each-ref --format="%(refname)" refs/heads/klineage/lineage) && parent= &&
		for c in $(git rev-list --reverse --first-parent $ref); do
			git read-tree $c && git cat-file blob $c:topk.cu >topk.cu && printf "// %s\n" "$raw" "$bad" >>topk.cu &&
			printf "// %s\n" $c >>topk.cu && blob=$(git hash-object -w topk.cu) &&
			git update-index --add --cacheinfo 100644,$blob,topk.cu --cacheinfo "100644,$blob,file$bad.h" &&
			tree=$(git write-tree) &&
			git log -1 --format=%B $c | perl -pe "
				chomp; \$_ .= qq( \$ENV{raw}) if \$. == 1 || /^undo/ || /^Klineage-(Locus|Trait|Source|Rewriter|Origin)/;
				\$_ .= qq(\n)" >msg &&
			new=$(git commit-tree -F msg ${parent:+-p $parent} $tree) && parent=$new || exit 1
			if git notes --ref klineage/gate show $c >note 2>/dev/null; then
				forge "\$j->{commit} = q($new); \$j->{tree} = q($tree); \$j->{message} = \$bad; \$j->{by} = \$bad;
					\$j->{platform}{\$_} = \$bad for qw(id compiler device driver); push @{\$j->{features}}, \$bad;
					\$_->{what} = \$bad for @{\$j->{profile}{vs}}; \$j->{class} = \$bad;" <note >forged &&
				git notes --ref klineage/gate add -f -F forged $new 2>/dev/null || exit 1
			fi
		done &&
		git update-ref $ref $parent && git checkout -q -f $ref && git branch -f main && git checkout -q -f main &&
		rm -f msg note forged
	)
'

test_expect_success 'log, show, blame, report, fsck, export' '
	ask log && shown out && ask log --porcelain && ask log --json && says "\"schema\":\"klineage.log" out &&
	ask show 3 && shown out &&
	for k in 0 5 11; do ask show $k && ask show --json $k || return 1; done &&
	ask blame topk.cu && shown out && ask blame --porcelain topk.cu && ask blame --json topk.cu &&
	ask blame "file$bad.h" && shown out && ask report && ask fsck && ask fsck --porcelain && ask export cuda-topk ../exported && ask lift &&
	ask review HEAD~3..HEAD && ask review --format markdown HEAD~3..HEAD && ask retrieve && ask chat log && ask chat cost
'

test_expect_success 'porcelain quotes, and -z is what was written' '
	ask fsck --porcelain && (cd r && git klineage blame -z topk.cu) >z && LC_ALL=C grep -q -a "$(printf "\033")" z &&
	ask blame --porcelain topk.cu && says "\\033[2J" out && says "\\342\\200\\256" out
'


# --- the judge --------------------------------------------------------------------------

# in_k <arguments>: ask() in the repository k, which has a kernel
in_k () {
	(cd k && git klineage "$@") >out 2>err </dev/null
	test $? -lt 130 && safe out && safe err && return 0
	echo "not safe: $*" | cat -v
	return 1
}

test_expect_success 'what a compiler, a contract, a file name and an argument say' '
	(make_repo k >/dev/null) && printf "#error \"%s\"\n" "$raw" >>k/k/scale.c &&
	in_k gate --worktree && says "\\x1b]52;c;cm0=\\x07R" out &&
	sed "s/^workload: .*/workload: \"$json\"/" k/k/klineage.yaml >yaml && cp yaml k/k/klineage.yaml &&
	in_k gate --worktree && test -s err && git -C k checkout -q k &&
	in_k gate "$raw" && says "\\x1b]52;c;cm0=\\x07R" err && in_k gate --workload "$bad" && shown err &&
	in_k "$bad" && shown err && in_k gate "--$bad" && shown err && in_k log "$bad" &&
	in_k hooks run "$bad" && shown err && in_k gate --import "$bad" && shown err && in_k blame "$bad" &&
	mkdir "k/$bad" && cp k/k/* "k/$bad" && sed -i "s/^workload: .*/workload: other/; s/scale.c/$bad.c/" "k/$bad/klineage.yaml" &&
	in_k gate --worktree --quick --workload other && in_k init "$bad.c" && in_k review && rm -rf "k/$bad"
'

test_expect_success 'a verdict from elsewhere' '
	(cd k && exits 125 git klineage gate --runner bundle -o ../a.tar HEAD^ >../out 2>../err) &&
	klineage-worker --bundle a.tar -o a.results 2>err && safe err &&
	reseal "\$j->{result}{message} = decode_json(qq([\"\$ENV{json}\"]))->[0]; \$j->{result}{class} = \$j->{result}{message};
		\$j->{device} = \$j->{driver} = \$j->{result}{message}" a.results >b.results &&
	in_k gate --import ../b.results && in_k gate --import --json ../b.results && in_k gate --runner bundle HEAD^ &&
	reseal "\$j->{result}{status} = decode_json(qq([\"\$ENV{json}\"]))->[0]" a.results >b.results && in_k gate --import ../b.results &&
	reseal "\$j->{time} = decode_json(qq([\"\$ENV{json}\"]))->[0]" a.results >b.results && in_k gate --import ../b.results &&
	reseal "\$j->{job} = decode_json(qq([\"\$ENV{json}\"]))->[0]" a.results >b.results && in_k gate --import ../b.results &&
	says "\\x1b" out
'

test_expect_success 'what this clone once found, changed on its disk' '
	in_k gate --quick HEAD && says "scale: pass" out &&
	find k/.git/klineage/cache -name "*.json" | while read -r f; do
		grep -q "\"verdict\"" "$f" || continue
		forge "\$j->{message} = qq(one\nscale: pass) . \$bad; push @{\$j->{features}}, \$bad;
			\$j->{notes} = [ \$bad ]" <"$f" >new && cp new "$f" && echo "$f"
	done >changed && test -s changed && in_k gate --quick HEAD && shown out && says "one\\x0ascale: pass" out && in_k gate --quick --porcelain HEAD && in_k gate --quick --json HEAD
'

test_expect_success 'a worker and a host that speak to a person' '
	mkdir bin && printf "#!/bin/sh\nprintf %%s \"\$raw\" >&2\nexit 255\n" >bin/ssh && chmod +x bin/ssh &&
	(cd k && PATH=$SHARNESS_TRASH_DIRECTORY/bin:$PATH && git klineage gate --fresh --runner ssh:host HEAD >../out 2>../err;
		git klineage gate --fresh --progress --runner ssh:host HEAD >>../out 2>>../err; test $? = 125) &&
	safe out && safe err && says "\\x1b]52;c;cm0=\\x07R" err &&
	{ klineage-worker --bundle "$raw" 2>err; safe err; } && says "\\x1b]52;c;cm0=\\x07R" err
'

# --- cards and remotes ---------------------------------------------------------------------

test_expect_success 'a library of cards that somebody else wrote' '
	card=$(find "$KLINEAGE_TOP/tests/data" -path "*cards/*.yaml" | sort | sed -n 1p) && id=$(basename "$card" .yaml) &&
	mkdir -p cards && sed "s/^intent: .*/intent: \"$json\"/" "$card" >cards/$id.yaml &&
	{ cat "$card"; echo "# $raw"; } >cards/other.yaml && cp "$card" "cards/c$bad.yaml" &&
	(
		cd k && blob=$(git hash-object -w ../cards/$id.yaml) && other=$(git hash-object -w ../cards/other.yaml) &&
		tree=$(printf "100644 blob %s\t%s\0" $blob $id.yaml $other other.yaml $other "x$bad.yaml" | git mktree -z) &&
		tree=$(printf "040000 tree %s\tcards\n" $tree | git mktree) &&
		git update-ref refs/heads/klineage/skills $(git commit-tree -m "$bad" $tree)
	) &&
	for verb in "skills list" "skills lint" "skills show $id" "skills show other" "skills list --json" "skills list --porcelain" \
		retrieve fsck "skills lint --porcelain" "materialize --dry-run scale"; do
		in_k $verb || return 1
	done &&
	in_k skills show --raw other && says "\\x1b]52;c;cm0=\\x07R" out &&
	in_k skills lint ../cards && in_k skills import ../cards && test -s err && in_k skills import "../cards/c$bad.yaml" &&
	in_k skills show "$bad" && shown err
'

test_expect_success 'a remote that answers, and has refs of such names' '
	git init -q --bare up.git && printf "#!/bin/sh\nprintf \"%%s\n\" \"\$raw\" >&2\nexit 1\n" >up.git/hooks/update && chmod +x up.git/hooks/update &&
	name=$(printf "a\342\200\256b\302\233c\233") && git -C k update-ref "refs/heads/klineage/lineage/$name/x" HEAD &&
	git -C k update-ref "refs/heads/klineage/lineage/w/$name" HEAD &&
	git -C k remote add origin ../up.git && in_k sync origin && in_k sync --dry-run origin && in_k sync "$bad" && shown err &&
	rm up.git/hooks/update && git -C k push -q origin "refs/heads/klineage/*:refs/heads/klineage/*" && git init -q l &&
	(cd l && git remote add origin ../up.git && git klineage sync origin >../out 2>../err; git klineage log >>../out 2>>../err;
		git klineage fsck >>../out 2>>../err; git klineage sync --porcelain origin >>../out 2>>../err; test $? -lt 130) && safe out && safe err &&
	says "<U+202E>" out
'

# --- our own colours -----------------------------------------------------------------------

test_expect_success 'colours are ours alone' '
	(cd r && git klineage log --color >../with && git klineage log >../without && git klineage show --color 3 >../show) &&
	esc=$(printf "\033") && grep -a -q "^$esc\[1mcuda-topk" with && sed "s/$esc\[[0-9;]*m//g" with >stripped && test_cmp without stripped &&
	sed "s/$esc\[[0-9;]*m//g" show >stripped && safe stripped && shown stripped
'

test_expect_success 'letters of any length pass, wherever the buffers end' '
	head=$(git -C r rev-parse HEAD) && for n in 1 2 3 4; do
		perl -e "print qq(\303\244\342\202\254\360\237\231\202\n) x 20; print q(a) x $n, qq(\303\244\342\202\254\360\237\231\202) x 9000, qq(\n)" >letters &&
		cp letters r/topk.cu && git -C r commit -q -a -m letters && ask blame topk.cu && sed "s/^.* [0-9]*) //" out >body &&
		test_cmp letters body || return 1
	done && git -C r reset -q --hard $head
'

# tty <command line>: run with a terminal for stdout and stderr
tty () {
	script -qec "$1" /dev/null </dev/null | tr -d "\r"
}
tty 'test -t 1 && test -t 2' && test_set_prereq TTY

test_expect_success TTY 'in a terminal also what is meant for programs is safe' '
	(cd r && tty "git --no-pager klineage blame -z topk.cu" >../out && git klineage blame -z topk.cu >../z) && safe out && shown out &&
	! safe z && (cd r && tty "TERM=vt100 GIT_PROGRESS_DELAY=0 git --no-pager klineage show --no-color 3" >../out) && safe out && shown out &&
	(cd r && tty "PAGER=cat git klineage blame -z topk.cu" >../out) && safe out && shown out
'

test_done
