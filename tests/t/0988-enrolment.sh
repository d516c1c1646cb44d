#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='signing is offered, and set up: the key of the user gets into the list of allowed signers'
. ./lib.sh

if ! command -v ssh-keygen >/dev/null; then
	skip_all='no ssh-keygen here'
	test_done
fi
cheats=$KLINEAGE_TOP/tests/cheats/c
top=$PWD
list=.klineage/allowed_signers

test_expect_success 'without a key nothing is offered, and --sign says what is missing' '
	for k in alice bob; do ssh-keygen -q -t ed25519 -N "" -C $k -f $k || return 1; done &&
	git init -q -b main r && (
		cd r && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . && cp "$cheats"/accepted/plain.c mm.c && git add . && git commit -q -m plain &&
		git config user.email alice@example.invalid && git klineage hooks install >../out && ! grep sign ../out &&
		exits 125 git klineage hooks install --sign 2>../err && says "user.signingKey is not set" ../err &&
		exits 125 git klineage init --sign 2>../err && says "user.signingKey is not set" ../err && test ! -e $list && exits 1 git config klineage.sign
	)
'

test_expect_success 'a key for OpenPGP is not offered, and refused; one for SSH is offered' '
	(
		cd r && git config user.signingKey 0123ABCD && git klineage hooks install >../out && ! grep sign ../out &&
		exits 125 git klineage hooks install --sign 2>../err && says "the public key of user.signingKey" ../err && test ! -e $list &&
		git config user.signingKey "$top/alice" && git config gpg.format ssh && git klineage hooks install >../out &&
		says "git klineage hooks install --sign" ../out && git klineage hooks install --json >../out && ! grep "install --sign" ../out &&
		git config klineage.sign false && git klineage hooks install >../out && ! grep "install --sign" ../out && git config --unset klineage.sign &&
		git klineage init --ci gitlab >../out && says "git klineage hooks install --sign" ../out && rm .gitlab-ci.yml && test ! -e $list
	)
'

test_expect_success 'hooks install --sign adds the key once, and verdicts are signed' '
	(
		cd r && git klineage hooks install --sign >../out && says "added the key of alice@example.invalid to $list" ../out && says "when main has it" ../out &&
		test "$(git config klineage.sign)" = true && test "$(git config klineage.signers)" = main &&
		echo "alice@example.invalid namespaces=\"klineage-gate\" $(cut -d" " -f1,2 ../alice.pub)" >../want && test_cmp ../want $list &&
		git klineage hooks install --sign >../out && says "already" ../out && test_cmp ../want $list &&
		git klineage init --sign >../out && says "already" ../out && test_cmp ../want $list &&
		git add $list && git commit -q -m "alice signs" && git klineage gate --no-profile HEAD && git notes --ref=klineage/gate show >../note && grep "\"sig\"" ../note
	)
'

test_expect_success 'a clone trusts the key because the base branch has it, and not before' '
	git clone -q r c && (
		cd c && git fetch -q origin "refs/notes/klineage/gate:refs/notes/klineage/gate" && git config klineage.requireSigned true &&
		echo >>mm.c && git commit -q -a -m same && cd ../r && git pull -q ../c main && git klineage gate --no-profile HEAD && cd ../c &&
		git fetch -q origin "refs/notes/klineage/gate:refs/notes/klineage/gate" && exits 1 git klineage review origin/main..HEAD >../out &&
		says "no allowed signer" ../out && git config klineage.signers origin/main && git klineage review origin/main..HEAD >../out
	)
'

test_expect_success 'a second signer, in a clone: beside the first, and by the default branch of the remote' '
	(
		cd c && git config --unset klineage.signers && git config user.email bob@example.invalid && git config user.signingKey "$top/bob" && git klineage init --sign >../out && says "when origin/main has it" ../out && test "$(git config klineage.signers)" = origin/main &&
		test "$(wc -l <$list)" = 2 && grep "^bob@example.invalid namespaces=\"klineage-gate\" ssh-ed25519 " $list && grep ^alice $list
	)
'

test_expect_success 'a line that is a comment or expired does not allow the key: one is added; a revoked key is refused' '
	(
		cd r && key=$(cut -d" " -f1,2 ../alice.pub) &&
		for line in "# alice@example.invalid $key" "alice@example.invalid valid-before=\"20200101\" $key" "alice@example.invalid namespaces=\"git\" $key"; do
			echo "$line" >$list && git klineage hooks install --sign >../out && says "added the key" ../out && test "$(wc -l <$list)" = 2 &&
			git klineage hooks install --sign >../out && says "already" ../out && test "$(wc -l <$list)" = 2 || return 1
		done &&
		echo "a-team@example.invalid $key" >$list && git klineage hooks install --sign >../out && says "already" ../out && test "$(wc -l <$list)" = 1 &&
		cp ../alice.pub ../revoked && git config gpg.ssh.revocationFile "$top/revoked" && echo "# nobody" >$list && test_must_fail git klineage hooks install --sign 2>../err &&
		says "would not allow the key" ../err && test "$(cat $list)" = "# nobody" && git config --unset gpg.ssh.revocationFile && git checkout -q $list
	)
'

test_expect_success 'a list or an address that cannot be used changes nothing' '
	(
		cd c && rm -r .klineage && mkdir ../outside && ln -s ../outside .klineage && exits 128 git klineage init --sign 2>../err && says "is not a directory" ../err &&
		test ! -e ../outside/allowed_signers && rm .klineage && mkdir .klineage && ln -s ../../outside/x $list && exits 128 git klineage init --sign 2>../err &&
		says "is not a regular file" ../err && test ! -e ../outside/x && rm -r .klineage &&
		git config user.email "* ssh-rsa" && exits 125 git klineage init --sign 2>../err && says "user.email" ../err && test ! -e .klineage &&
		git config user.email bob@example.invalid && printf "no key at all\n" >../none.pub && : >../none && git config user.signingKey "$top/none" &&
		exits 125 git klineage init --sign 2>../err && says "--sign" ../err && test ! -e .klineage &&
		exits 129 git klineage init --sign x.c && exits 129 git klineage init --sign --list && exits 129 git klineage hooks status --sign &&
		exits 129 git klineage hooks install --sign --json
	) && git init -q --bare b.git && (cd b.git && exits 128 git klineage init --sign 2>../err) && says "worktree" err
'

test_done
