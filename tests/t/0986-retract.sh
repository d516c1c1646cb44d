#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate --retract: who may take an event back, and for whom'
. ./lib.sh

if ! command -v ssh-keygen >/dev/null; then
	skip_all='no ssh-keygen here'
	test_done
fi
cheats=$KLINEAGE_TOP/tests/cheats/c
top=$PWD

note () { git -C r notes --ref=klineage/gate show "${1:-HEAD}"; }
renote () { git -C r notes --ref=klineage/gate add -f -F "$PWD/$1" HEAD 2>/dev/null; }
forget () { rm -rf r/.git/klineage; }

# retract <option>...
retract () { (cd r && git klineage gate --retract "$@"); }

# pushed [<repository>]: what the hook says of HEAD, as if it were on its way out
pushed () {
	(cd "${1:-r}" && echo "refs/heads/main $(git rev-parse HEAD) refs/heads/main $(git rev-parse HEAD^)" |
		git klineage hooks run pre-push nowhere)
}

# a kernel that passes, whose note has a failure as well: what a machine in trouble writes
test_expect_success 'a failure of another machine outweighs the pass' '
	for k in alice bob mallory; do ssh-keygen -q -t ed25519 -N "" -C $k -f $k || return 1; done &&
	for k in alice bob; do echo "$k namespaces=\"klineage-gate\" $(cat $k.pub)" || return 1; done >allowed &&
	git init -q r && (
		cd r && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . && cp "$cheats"/accepted/plain.c mm.c &&
		git add . && git commit -q -m plain && cp "$cheats"/accepted/kahan.c mm.c && git commit -q -a -m kahan &&
		git config klineage.hooks.push gate && git config gpg.ssh.allowedSignersFile "$top/allowed" &&
		git klineage gate --no-profile
	) && note >pass && pushed &&
	forge "\$j->{verdict} = q(fail); \$j->{class} = q(hang); \$j->{message} = q(forty seconds); \$j->{by} = q(other)" pass >fail &&
	cat pass fail >both && renote both && exits 1 pushed >out && says "mm: it failed: hang" out && id=$(member id fail)
'

test_expect_success 'a retraction that anybody can write takes nothing back, and is told' '
	forge "\$j = { v => 1, kind => q(retract), of => q($id), time => q(2026-11-24T10:00:00Z), by => q(x),
		(map { \$_ => \$j->{\$_} } qw(workload surface contract commit tree)) }" fail >back &&
	cat pass fail back >three && renote three && exits 1 pushed >out && says "mm: it failed: hang" out &&
	sign_line mallory back >line && cat pass fail line >three && renote three && exits 1 pushed >out && says "it failed: hang" out &&
	sign_line alice back >line && cat pass fail line >three && renote three && exits 1 pushed >out && says "it failed: hang" out &&
	git -C r config klineage.requireSigned true && exits 1 pushed && git -C r config --unset klineage.requireSigned &&
	(cd r && git klineage review HEAD^..HEAD >../out; :) && says "hang" out
'

test_expect_success 'review and fsck report a retraction without effect, and no other' '
	told () { (cd r && git klineage review HEAD^..HEAD >../out; git klineage fsck >../out2; :); } &&
	cat pass fail back >three && renote three && told && says "a note retracts the event $(echo "$id" | cut -c1-12) without effect" out &&
	says "the retraction of event $(echo "$id" | cut -c1-12) has no effect" out2 && (cd r && git klineage fsck >/dev/null) &&
	sign_line alice fail >signed && sign_line alice back >line && cat pass signed line >three && renote three && told &&
	! grep effect out && ! grep effect out2 && cat pass signed line back >four && renote four && told && ! grep effect out && ! grep effect out2
'

test_expect_success 'an allowed signer takes back what the same one has signed' '
	sign_line alice fail >signed && cat pass signed line >three && renote three && pushed &&
	sign_line bob fail >signed && cat pass signed line >three && renote three && exits 1 pushed >out && says "it failed: hang" out &&
	sign_line bob back >line && cat pass signed line >three && renote three && pushed &&
	git -C r config --unset gpg.ssh.allowedSignersFile && exits 1 pushed && git -C r config gpg.ssh.allowedSignersFile "$top/allowed"
'

test_expect_success 'the verb: unsigned, it holds in this clone alone, and says so' '
	cat pass fail >both && renote both && exits 1 pushed &&
	retract "$(echo "$id" | cut -c1-12)" --reason "the machine was busy" >out 2>err && says "retracted: mm: fail hang" out &&
	says "only this clone follows the retraction: the retraction is not signed: user.signingKey is not set" err &&
	note >after && test "$(wc -l <after)" = 3 && says "the machine was busy" after && pushed &&
	(cd r && git klineage review HEAD^..HEAD >../out; :) && ! grep hang out &&
	git clone -q r other && git -C other config klineage.hooks.push gate &&
	git -C other fetch -q origin "refs/notes/klineage/gate:refs/notes/klineage/gate" && exits 1 pushed other >out && says "it failed: hang" out
'

test_expect_success 'the verb: signed, those follow who trust the signer of both' '
	git -C r config user.signingKey "$top/alice" && sign_line alice fail >signed && cat pass signed >both && renote both &&
	retract "$id" --json >out && test "$(member signer out)" = alice && test -z "$(member alone out)" && test "$(member trust out)" = signed &&
	pushed && git -C other fetch -q origin "+refs/notes/klineage/gate:refs/notes/klineage/gate" && exits 1 pushed other &&
	git -C other config gpg.ssh.allowedSignersFile "$top/allowed" && pushed other
'

test_expect_success 'what others do not follow is told with its reason' '
	sign_line bob fail >signed && cat pass signed >both && renote both && retract "$id" >out 2>err &&
	says "signed by alice" out && says "only this clone follows the retraction: the event is signed by bob" err && pushed &&
	cat pass fail >both && renote both && retract "$id" >out 2>err && says "no allowed signer signed the event (unsigned)" err &&
	git -C r config user.signingKey "$top/mallory" && renote both && retract "$id" >out 2>err && says "no list of allowed signers" err &&
	renote both && retract "$id" --no-sign >out 2>err && says "is not signed" err && ! note | grep "\"retract\".*\"sig\"" && pushed
'

test_expect_success 'with klineage.sign or --sign it is signed or not made' '
	git -C r config --unset user.signingKey && renote both && exits 125 retract "$id" --sign && exits 125 git -C r -c klineage.sign=true \
		klineage gate --retract "$id" && note >after && test_cmp both after
'

test_expect_success 'a failure in the cache is judged again' '
	(cd r && cp "$cheats"/refused/zeros.c mm.c && exits 1 git klineage gate --no-profile --worktree && exits 1 git klineage gate \
		--no-profile --worktree --json >../out) && id=$(member id out) && retract "$id" >out && says "in the cache" out &&
	(cd r && exits 1 git klineage gate --no-profile --worktree --json >../out) && test "$(member id out)" != "$id" &&
	(cd r && git commit -q -a -m zeros && exits 1 git klineage gate --no-profile --json >../out) && id=$(member id out) &&
	cp -R r/.git/klineage/cache kept && retract "$id" >out 2>err && says "in 1 note and in the cache" out &&
	rm -r r/.git/klineage/cache && mv kept r/.git/klineage/cache && retract "$id" >out && says "in the cache" out &&
	exits 128 retract "$id" 2>err && says "is already retracted" err
'

test_expect_success 'a retraction is no verdict: neither an unsigned nor a stale one' '
	note | grep "\"retract\"" >alone && git -C r rev-parse refs/notes/klineage/gate >tip && git -C r update-ref -d refs/notes/klineage/gate &&
	cp -R r/.git/klineage kept && forget && renote alone && exits 1 pushed >out && says "mm: not judged" out &&
	(cd r && exits 1 git klineage review HEAD^..HEAD --json >../out) && says "\"verdict\":\"missing\"" out &&
	grep "\"retract\"" three >alone && renote alone && (cd r && exits 1 git klineage review HEAD^..HEAD --json >../out) && says "\"verdict\":\"missing\"" out &&
	git -C r update-ref refs/notes/klineage/gate "$(cat tip)" && forget && mv kept r/.git/klineage
'

test_expect_success 'only a signer whom a list names is told as the signer' '
	git -C r config user.signingKey "$top/mallory" && (cd r && exits 1 git klineage gate --no-profile --fresh --json >../out) && id=$(member id out) &&
	retract "$id" --json >out && test -z "$(member signer out)" && git -C r config --unset user.signingKey &&
	exits 129 retract "$id" --import x --reason y 2>err && says "cannot be used together" err
'

test_expect_success 'what cannot be retracted' '
	note >lines && git -C r notes --ref=klineage/gate show HEAD | grep "\"retract\"" | tail -1 >back && exits 128 retract "$(member id back)" 2>err &&
	says "is itself a retraction" err && exits 128 retract 1234567 2>err && says "no event 1234567" err &&
	exits 128 retract 123 2>err && says "not an event id" err && exits 128 retract "../../x" 2>err && says "not an event id" err &&
	exits 129 retract "$id" HEAD && exits 129 retract "$id" --porcelain && exits 129 retract "$id" --import x &&
	(cd r && exits 129 git klineage gate --reason x) && note >after && test_cmp lines after &&
	exits 128 retract "$id" --reason "$(printf "a\\377b")" 2>err && says "reason" err
'

# a fail, a pass and a retraction in one note, which a clone that judged nothing itself reads by its index
test_expect_success 'a pass that a failure hid counts again once the failure is retracted' '
	git -C r reset -q --hard && git -C r checkout -q --detach "$(git -C r rev-list --reverse HEAD | sed -n 2p)" &&
	git -C r config --unset user.signingKey; sign_line alice pass >signed-pass && sign_line alice fail >signed-fail &&
	id=$(member id fail) && forge "\$j = { v => 1, kind => q(retract), of => q($id), time => q(2026-11-24T10:00:00Z), by => q(x),
		(map { \$_ => \$j->{\$_} } qw(workload surface contract commit tree)) }" fail >back && sign_line alice back >signed-back &&
	served () { forget && (cd r && git klineage gate --no-profile --no-note >../out) && grep "judged before and signed by alice" out; } &&
	cp signed-pass one && renote one && served && cat signed-pass signed-fail >two && renote two && ! served &&
	cat signed-pass signed-fail signed-back >three && renote three && served &&
	forge "\$j->{message} = q(fifty seconds)" fail >fresh && cat three fresh >four && renote four && ! served &&
	cat signed-pass fail back >three && renote three && ! served
'

test_expect_success 'retrieve reads a pass that a retracted failure hid, and none that a failure outweighs' '
	# the note is of another commit with the same files; the library has no cards
	other=$(git -C r commit-tree -m again -p HEAD "HEAD^{tree}") &&
	git -C r update-ref refs/heads/klineage/skills "$(git -C r commit-tree -m cards "$(git -C r mktree </dev/null)")" &&
	asked () { forget && (cd r && exits 1 git klineage retrieve --rev "$other" --json >../out) && grep -F "\"event\":\"$(member id pass)\"" out; } &&
	cp signed-pass one && renote one && asked && cat signed-pass signed-fail >two && renote two && ! asked && says "\"event\":null" out &&
	cat signed-pass signed-fail signed-back >three && renote three && asked
'

test_done
