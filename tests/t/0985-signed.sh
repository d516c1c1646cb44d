#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='signed events: made with SSH keys, checked against the allowed signers, required where asked for'
. ./lib.sh

if ! command -v ssh-keygen >/dev/null; then
	skip_all='no ssh-keygen here'
	test_done
fi
cheats=$KLINEAGE_TOP/tests/cheats/c
top=$PWD

note () { git -C r notes --ref=klineage/gate show "${1:-HEAD}"; }

# renote <file>: the lines of a file as HEAD's note, by plain git
renote () { git -C r notes --ref=klineage/gate add -f -F "$PWD/$1" HEAD 2>/dev/null; }

# forget: make r a clone that judged nothing itself
forget () { rm -rf r/.git/klineage; }

# pushed: what the hook says of HEAD, as if it were on its way out
pushed () {
	(cd r && echo "refs/heads/main $(git rev-parse HEAD) refs/heads/main $(git rev-parse HEAD^)" |
		git klineage hooks run pre-push nowhere)
}

test_expect_success 'keys, a list of signers, a kernel in two states' '
	for k in alice mallory; do ssh-keygen -q -t ed25519 -N "" -C $k -f $k || return 1; done &&
	echo "alice@example.invalid namespaces=\"klineage-gate\" $(cat alice.pub)" >allowed &&
	git init -q r && (
		cd r && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . && cp "$cheats"/accepted/plain.c mm.c &&
		git add . && git commit -q -m plain && cp "$cheats"/accepted/kahan.c mm.c && git commit -q -a -m kahan &&
		git config klineage.hooks.push gate
	)
'

test_expect_success '--sign without a key says which setting is missing, and nothing is noted' '
	(cd r && exits 125 git klineage gate --no-profile --sign 2>../err) && says "user.signingKey is not set" err &&
	test_must_fail git -C r rev-parse -q --verify refs/notes/klineage/gate &&
	git -C r config user.signingKey 0123ABCD &&
	(cd r && exits 125 git klineage gate --no-profile --sign 2>../err) &&
	says "events are signed with SSH keys, although gpg.format is '\''openpgp'\''" err
'

test_expect_success '--sign signs the id of what is noted, and ssh-keygen agrees' '
	git -C r config user.signingKey "$top/alice" && (cd r && git klineage gate --no-profile --sign) &&
	note >signed && test "$(wc -l <signed)" = 1 && member id signed >id && member sig signed >sig &&
	ssh-keygen -Y verify -f allowed -I alice@example.invalid -n klineage-gate -s sig <id
'

test_expect_success '--sign is for notes' '
	(cd r && exits 129 git klineage gate --sign --worktree 2>../err) && says "noted on a commit" err &&
	(cd r && exits 129 git klineage gate --sign --no-note 2>../err)
'

test_expect_success '--no-sign leaves out what klineage.sign asks for; the signed line is a second one' '
	git -C r config klineage.sign true && git -C r notes --ref=klineage/gate remove HEAD 2>/dev/null &&
	(cd r && git klineage gate --no-profile --no-sign) && note >unsigned && ! grep "\"sig\"" unsigned &&
	(cd r && git klineage gate --no-profile) && note >both && test "$(wc -l <both)" = 2 && grep "\"sig\"" both &&
	git -C r config klineage.sign false
'

test_expect_success 'a key that an agent has, named by itself' '
	test_when_finished "kill \$SSH_AGENT_PID" &&
	eval "$(ssh-agent -s)" >/dev/null && ssh-add -q alice && mv alice hidden &&
	git -C r config user.signingKey "key::$(cut -d" " -f1,2 alice.pub)" && renote unsigned &&
	(cd r && git klineage gate --no-profile --sign) && mv hidden alice && note >agent && grep "\"sig\"" agent &&
	git -C r config user.signingKey "$top/alice"
'

# what one clone says to another: no cache of its own
test_expect_success 'a clone that judged nothing itself counts what is noted' '
	forget && renote signed && pushed && git -C r config gpg.ssh.allowedSignersFile "$top/allowed" &&
	pushed && (cd r && git klineage fsck)
'

test_expect_success 'what an allowed signer noted spares the run, and nobody else' '
	(cd r && git klineage gate --no-profile >../out) && says "judged before and signed by alice@example.invalid" out &&
	test ! -d r/.git/klineage/cache || ! find r/.git/klineage/cache -name "*.json" | grep . &&
	note >after && test_cmp signed after &&
	(cd r && git klineage gate --no-profile --fresh --no-note >../out) && ! grep "judged before" out && forget &&
	(cd r && git klineage gate --no-note >../out) && ! grep "judged before" out && forget &&
	renote unsigned && (cd r && git klineage gate --no-profile --no-note >../out) && ! grep "judged before" out &&
	forget && renote signed &&
	perl -pe "s/\"sig\":\"/\"sig\":\"x/" signed >wrong && renote wrong &&
	(cd r && git klineage gate --no-profile --no-note >../out) && ! grep "judged before" out && forget && renote signed
'

test_expect_success 'where signatures are required, a pass needs one of an allowed signer' '
	git -C r config klineage.requireSigned true && pushed &&
	renote unsigned && exits 1 pushed >out && says "no verdict is signed by an allowed signer" out &&
	git -C r config user.signingKey "$top/mallory" && git -C r config klineage.requireSigned false && renote unsigned &&
	perl -MJSON::PP -e "my \$j = decode_json(scalar <STDIN>); open my \$f, q(>), q(id); print \$f \$j->{id}" <unsigned &&
	ssh-keygen -q -Y sign -n klineage-gate -f mallory <id >sig 2>/dev/null &&
	perl -MJSON::PP -e "my \$j = decode_json(scalar <STDIN>); local \$/; open my \$f, q(<), q(sig); \$j->{sig} = <\$f>;
		print JSON::PP->new->canonical->ascii->encode(\$j), qq(\n)" <unsigned >mallorys &&
	renote mallorys && pushed && (cd r && git klineage fsck) &&
	git -C r config klineage.requireSigned true && exits 1 pushed >out &&
	says "no verdict is signed by an allowed signer" out
'

test_expect_success 'a signature of another event is wrong: told, and the event does not count' '
	git -C r config klineage.requireSigned false && echo "another event" >id2 &&
	ssh-keygen -q -Y sign -n klineage-gate -f alice <id2 >sig 2>/dev/null &&
	perl -MJSON::PP -e "my \$j = decode_json(scalar <STDIN>); local \$/; open my \$f, q(<), q(sig); \$j->{sig} = <\$f>;
		print JSON::PP->new->canonical->ascii->encode(\$j), qq(\n)" <unsigned >wrong &&
	renote wrong && exits 1 pushed >out && says "has a wrong signature and does not count" out &&
	says "mm: not judged" out &&
	(cd r && exits 1 git klineage fsck) >out && says "has a wrong signature" out
'

test_expect_success 'an event that this clone made counts in any case: neither review nor the hook reports it' '
	(cd r && exits 1 git klineage review HEAD^..HEAD >../out) && says "has a wrong signature and does not count" out &&
	mkdir -p r/.git/klineage && member id wrong >r/.git/klineage/made && echo >>r/.git/klineage/made &&
	{ (cd r && git klineage review HEAD^..HEAD --json >../out); says "\"verdict\":\"pass\"" out; } && ! grep "signature-bad" out &&
	pushed >out && ! grep "wrong signature" out && forget
'

test_expect_success 'so is one that is no signature, or was made for something else' '
	perl -pe "s/\"sig\":\".*?\"/\"sig\":\"nonsense\"/" signed >wrong && renote wrong && exits 1 pushed >out &&
	says "wrong signature" out &&
	ssh-keygen -q -Y sign -n git -f alice <id >sig 2>/dev/null &&
	perl -MJSON::PP -e "my \$j = decode_json(scalar <STDIN>); local \$/; open my \$f, q(<), q(sig); \$j->{sig} = <\$f>;
		print JSON::PP->new->canonical->ascii->encode(\$j), qq(\n)" <unsigned >wrong &&
	renote wrong && exits 1 pushed >out && says "wrong signature" out
'

test_expect_success 'a wrongly signed twin does not shadow the line that is right' '
	cat signed wrong | sort >twins && test "$(wc -l <twins)" = 2 && renote twins && exits 1 pushed >out &&
	says "wrong signature" out && ! grep "not judged" out
'

test_expect_success 'a failure counts whoever tells it' '
	git -C r config klineage.requireSigned true && (
		cd r && cp "$cheats"/refused/zeros.c mm.c && git commit -q -a -m zeros && exits 1 git klineage gate --no-profile
	) && forget && exits 1 pushed >out && says "mm: it failed: wrong-all" out
'

test_expect_success 'a revoked key, and one whose time was over, are nobody'\''s' '
	git -C r reset -q --hard HEAD^ && renote signed && pushed &&
	cp alice.pub revoked && git -C r config gpg.ssh.revocationFile "$top/revoked" && exits 1 pushed >out &&
	says "wrong signature" out && git -C r config --unset gpg.ssh.revocationFile &&
	echo "alice@example.invalid valid-before=\"20200101\" $(cat alice.pub)" >allowed && exits 1 pushed >out &&
	says "no verdict is signed" out &&
	echo "alice@example.invalid valid-after=\"20200101\" $(cat alice.pub)" >allowed && pushed
'

# the list of the repository: where the base branch has it, and nowhere else
test_expect_success 'the base branch says who is allowed, in a file that a branch cannot change for itself' '
	git -C r config --unset gpg.ssh.allowedSignersFile && git -C r config klineage.requireSigned true && exits 1 pushed >out &&
	mkdir -p r/.klineage && cp allowed r/.klineage/allowed_signers && git -C r branch base && exits 1 pushed >out &&
	git -C r config klineage.signers base && exits 1 pushed >out && says "no verdict is signed" out &&
	tree=$(cd r && GIT_INDEX_FILE=.git/other git read-tree base && GIT_INDEX_FILE=.git/other git update-index --add .klineage/allowed_signers &&
		GIT_INDEX_FILE=.git/other git write-tree) &&
	with=$(git -C r commit-tree -m signers -p base "$tree") && git -C r branch other "$with" && exits 1 pushed >out &&
	git -C r branch -f base "$with" && rm -r r/.klineage && pushed && (cd r && git klineage fsck)
'

test_expect_success 'a range that adds a key to the list gains nothing, even on the branch that has the list' '
	was=$(git -C r rev-parse HEAD) && first=$(git -C r rev-parse HEAD^) && git -C r notes --ref=klineage/gate remove HEAD && git -C r reset -q --hard "$first" && mkdir r/.klineage &&
	cp allowed r/.klineage/allowed_signers && git -C r add .klineage && git -C r commit -q -m signers && git -C r tag with-alice &&
	echo "mallory namespaces=\"klineage-gate\" $(cat mallory.pub)" >>r/.klineage/allowed_signers && cp "$cheats"/accepted/kahan.c r/mm.c &&
	git -C r commit -q -a -m "kahan, and a key" && git -C r config klineage.signers HEAD && forget && renote mallorys &&
	# the change of the list is to be answered in any case
	reviewed () { forget && (cd r && exits 1 git klineage review "$1" --json >../out) && says "signers-changed" out; } &&
	# nor do the hook and gate --since take her word
	since () { (cd r && git klineage gate --since with-alice --no-profile --no-note >../out) && forget; } &&
	passes () {
		reviewed with-alice..HEAD && says "\"signature\":\"good\"" out && ! grep verdict-unsigned out &&
		pushed && since && says "judged before and signed by alice@example.invalid" out
	} &&
	fails () {
		reviewed with-alice..HEAD && says "verdict-unsigned" out &&
		exits 1 pushed >out && says "no verdict is signed" out && since && ! grep "judged before" out
	} &&
	fails && renote signed && passes &&
	# the range takes alice from the list: she is still who the base names
	sed -n "s/^mallory/&/p" r/.klineage/allowed_signers >list && cp list r/.klineage/allowed_signers &&
	git -C r notes --ref=klineage/gate remove HEAD && git -C r commit -q --amend -a -m "kahan, and another key" && renote signed && passes && renote mallorys && fails &&
	# a list on another branch is not the range'\''s to change
	git -C r config klineage.signers with-alice && fails && renote signed && passes &&
	git -C r config klineage.signers base && git -C r reset -q --hard "$was" && renote signed
'

test_expect_success 'what was checked once is not checked again, unless something has changed' '
	printf "#!/bin/sh\necho \"\$2\" >>\"$top/calls\"\nexec ssh-keygen \"\$@\"\n" >keygen && chmod +x keygen &&
	git -C r config gpg.ssh.program "$top/keygen" && pushed && grep verify calls && rm calls &&
	pushed && test ! -e calls && renote wrong && exits 1 pushed >out && says "wrong signature" out && grep verify calls && rm calls &&
	exits 1 pushed >out && says "wrong signature" out && test -e calls && renote signed && rm calls && pushed && test ! -e calls &&
	cp alice.pub revoked && git -C r config gpg.ssh.revocationFile "$top/revoked" && exits 1 pushed >out && test -e calls &&
	git -C r config --unset gpg.ssh.revocationFile && git -C r config --unset gpg.ssh.program && pushed &&
	head -c 100 /dev/urandom >>r/.git/klineage/cache/signatures && pushed && rm r/.git/klineage/cache/signatures &&
	mkdir r/.git/klineage/cache/signatures && pushed && test -f r/.git/klineage/cache/signatures
'

test_expect_success 'a list that is a link, or endless, stops what needs it' '
	lists () {	# lists <mode>: a base whose list is the file "list"
		blob=$(git -C r hash-object -w "$top/list") && inner=$(printf "$1 blob $blob\tallowed_signers\n" | git -C r mktree) &&
		outer=$(printf "040000 tree $inner\t.klineage\n" | git -C r mktree) && git -C r branch -f base "$(git -C r commit-tree -m x "$outer")"
	} &&
	was=$(git -C r rev-parse base) && printf /etc/passwd >list && lists 120000 && pushed 2>err &&
	says "nothing was judged" err && says "is not a regular file" err && (cd r && exits 128 git klineage review HEAD^..HEAD 2>../err) &&
	says "is not a regular file" err && yes x | head -c 1200000 >list && lists 100644 && (cd r && exits 128 git klineage review HEAD^..HEAD 2>../err) &&
	says "allowed_signers" err &&
	git -C r branch -f base "$was" && pushed
'

test_expect_success 'without ssh-keygen nothing is wrong, and nothing is signed' '
	git -C r config gpg.ssh.program "$top/no-such-program" && exits 1 pushed >out && says "no verdict is signed" out &&
	git -C r config klineage.requireSigned false && pushed &&
	(cd r && exits 125 git klineage gate --no-profile --sign 2>../err) && says "no-such-program" err
'

test_done
