#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='hooks of ours among those of others: installed, chained, refused, taken away'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
good=$cheats/accepted
bad=$cheats/refused
events='pre-commit pre-merge-commit post-commit post-merge pre-push'

case $(git version) in
'git version 2.'[1-4][0-9].*|'git version 2.5'[0-3].*) ;;
*)
	skip_all="$(git version) has entries of the configuration for hooks: 0913"
	test_done ;;
esac

# repo <name>: one kernel, no hooks
repo () {
	git init -q --template= "$1" && mkdir -p "$1/.git/hooks" &&
	cp "$cheats"/klineage.yaml "$cheats"/oracle.c "$1" && cp "$good"/plain.c "$1"/mm.c &&
	git -C "$1" add . && git -C "$1" commit -q -m first
}

# listing <directory>: every file with its mode and its bytes
listing () {
	(cd "$1" && find . -type f -o -type l | sort | while read -r f; do
		stat -c "%n %a %F" "$f" && { readlink "$f" || sha256sum <"$f"; }
	done)
}

# state <event> <repository>
state () {
	(cd "$2" && git-klineage hooks status --json) | perl -MJSON::PP -e '
		my $j = decode_json(join "", <STDIN>);
		print $_->{state}, "\n" for grep { $_->{event} eq $ARGV[0] } @{$j->{hooks}}' "$1"
}

test_expect_success 'nothing is there' '
	repo plain && (cd plain && exits 1 git klineage hooks status >../out) && says "not installed" out &&
	test "$(state pre-push plain)" = absent
'

test_expect_success 'installed: five files that git runs' '
	(cd plain && git klineage hooks install >../out) && says .git/hooks out &&
	for e in $events; do
		test -x plain/.git/hooks/$e && test "$(state $e plain)" = ours || return 1
	done &&
	(cd plain && git klineage hooks status >../out) && ! grep "not installed" out
'

test_expect_success 'they are what shellcheck likes' '
	{ ! command -v shellcheck || shellcheck -s sh plain/.git/hooks/pre-commit; } &&
	sh -n plain/.git/hooks/pre-push
'

test_expect_success 'they stop what is broken and note what passes' '
	(
		cd plain && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros >../out 2>&1 &&
		cp "$good"/kahan.c mm.c && git commit -q -a -m kahan &&
		git notes --ref=klineage/gate show HEAD >/dev/null
	) && says "mm: FAIL" out
'

test_expect_success 'once more is no error, and changes nothing' '
	listing plain/.git/hooks >before && (cd plain && git klineage hooks install) && listing plain/.git/hooks >after &&
	test_cmp before after
'

test_expect_success 'an older file of ours is renewed' '
	f=plain/.git/hooks/post-merge && printf "#!/bin/sh\nexit 0\n" >$f &&
	printf "# written by git klineage hooks install: %s\n" "$(sha256sum <$f | cut -d" " -f1)" >>$f &&
	test "$(state post-merge plain)" = ours && (cd plain && git klineage hooks install) &&
	cmp $f plain/.git/hooks/pre-commit
'

test_expect_success 'what somebody has changed is neither overwritten nor taken away' '
	echo "echo mine" >>plain/.git/hooks/pre-push && test "$(state pre-push plain)" = edited &&
	listing plain/.git >before &&
	(cd plain && exits 128 git klineage hooks install 2>../err) && says "was modified after it was installed" err &&
	(cd plain && exits 128 git klineage hooks install --chain 2>../err) &&
	(cd plain && exits 128 git klineage hooks uninstall 2>../err) && says "remove it manually" err &&
	listing plain/.git >after && test_cmp before after && rm plain/.git/hooks/pre-push
'

test_expect_success 'uninstall leaves nothing' '
	repo gone && listing gone/.git >before && (cd gone && git klineage hooks install && git klineage hooks uninstall) &&
	listing gone/.git >after && test_cmp before after && (cd gone && git klineage hooks uninstall)
'

test_expect_success 'a program is told what is there then, as by status' '
	repo told && (
		cd told && git klineage hooks install --json >../json && git klineage hooks status --json >../want && test_cmp ../want ../json &&
		git klineage hooks install --porcelain >../lines && test "$(cut -f2 ../lines | sort -u)" = ours &&
		git klineage hooks uninstall --json >../json && test_must_fail git klineage hooks status --json >../want &&
		test_cmp ../want ../json && git klineage hooks uninstall -z | tr "\000" "\n" >../lines && grep -c "^absent" ../lines >../n &&
		git config core.hooksPath .husky/_ && exits 1 git klineage hooks install --json >../json
	) && test "$(wc -l <lines)" = 15 && test "$(cat n)" = 5 && says "\"owner\":\"husky\"" json && says "\"complete\":false" json
'

# a hook that writes down what it got, and what it was told
foreign () {
	cat >"$1" <<-\EOF && chmod "${2:-755}" "$1"
		#!/bin/sh
		{ echo "$0 $#: $*"; case $0 in *push*) cat ;; esac; } >>"$(git rev-parse --git-common-dir)/seen"
		exit "$(git config --default 0 --get test.exit)"
	EOF
}

test_expect_success 'a foreign hook is refused, and nothing is half done' '
	repo other && foreign other/.git/hooks/post-merge && foreign other/.git/hooks/pre-push 700 &&
	listing other/.git >before && (cd other && exits 128 git klineage hooks install 2>../err) &&
	says "already exists" err && says "post-merge" err && says "hint: use --chain" err && listing other/.git >after &&
	test_cmp before after && test "$(state pre-push other)" = foreign
'

test_expect_success 'chained: called first, with the same arguments and input' '
	(cd other && git klineage hooks install --chain) && test "$(state pre-push other)" = chained &&
	git init -q --bare up.git && (
		cd other && git remote add origin ../up.git && git push -q origin HEAD:refs/heads/a HEAD:refs/heads/b &&
		git rev-parse HEAD >../head && cat .git/seen >../seen
	) &&
	says "2: origin ../up.git" seen && says "HEAD $(cat head) refs/heads/a 0000" seen &&
	says "HEAD $(cat head) refs/heads/b 0000" seen && test "$(wc -l <seen)" = 3
'

test_expect_success 'a chained hook that says no is the end of it' '
	(cd other && git -c test.exit=3 push -q origin HEAD:refs/heads/c 2>../err; test $? = 1) &&
	test_must_fail git -C up.git rev-parse --verify -q c
'

test_expect_success 'chained twice changes nothing' '
	listing other/.git/hooks >before && (cd other && git klineage hooks install --chain) &&
	listing other/.git/hooks >after && test_cmp before after
'

test_expect_success 'uninstall brings back what was there, byte for byte' '
	rm -f other/.git/seen && repo back && foreign back/.git/hooks/pre-commit 750 &&
	ln -s pre-commit back/.git/hooks/pre-push && printf "not to be run" >back/.git/hooks/post-commit &&
	chmod 644 back/.git/hooks/post-commit && listing back/.git/hooks >before &&
	(cd back && git klineage hooks install --chain) && ! test -L back/.git/hooks/pre-push &&
	(cd back && git klineage hooks uninstall) && listing back/.git/hooks >after && test_cmp before after
'

test_expect_success 'a hook that is not to be run is not run when it is chained' '
	(
		cd back && git klineage hooks install --chain && cp "$good"/kahan.c mm.c && git commit -q -a -m kahan >../out 2>&1 &&
		git klineage hooks uninstall
	) && says "mm: pass" out
'

test_expect_success 'a tool that wrote its hook over ours: nobody is lost' '
	repo rival && foreign rival/.git/hooks/pre-commit &&
	(cd rival && git klineage hooks install --chain) && echo "#!/bin/sh" >rival/.git/hooks/pre-commit &&
	listing rival/.git/hooks >before && (cd rival && exits 128 git klineage hooks install --chain 2>../err) &&
	says "cannot chain" err && listing rival/.git/hooks >after && test_cmp before after
'

test_expect_success 'a foreign hook that calls us is left alone, and counts' '
	repo line && printf "#!/bin/sh\ngit klineage hooks run pre-commit -- \"\$@\"\n" >line/.git/hooks/pre-commit &&
	chmod +x line/.git/hooks/pre-commit && (cd line && git klineage hooks install) &&
	test "$(state pre-commit line)" = called && test "$(state pre-push line)" = ours &&
	(cd line && git klineage hooks uninstall && ls .git/hooks >../left) && echo pre-commit >want && test_cmp want left
'

test_expect_success 'killed between two steps: a hook is always there, and install goes on' '
	repo killed && foreign killed/.git/hooks/pre-commit &&
	ln killed/.git/hooks/pre-commit killed/.git/hooks/pre-commit.klineage-chained &&
	(cd killed && git klineage hooks install --chain) && test "$(state pre-commit killed)" = chained
'

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
else
	say "# no fault build here (make FAULT=1): no kills at every step"
fi

# once <repository> <verb...>: the foreign hook is the one git calls, or behind it; whatever is there can be undone
once () {
	to=refs/heads/$(echo "$2$how$n" | tr -dc a-z0-9)
	rm -f sweep/.git/seen
	(cd sweep && git -c klineage.hooks.notes=false push -q ../up.git HEAD:"$to") >push.out 2>&1
	test "$(grep -c " $to " sweep/.git/seen)" = 1 && rm -rf again && cp -Rp sweep again &&
	(cd again && git klineage hooks install --chain && git klineage hooks uninstall) >/dev/null &&
	(cd sweep && git klineage hooks uninstall) &&
	for r in sweep again; do
		listing $r/.git/hooks >after && test_cmp swept.want after || return 1
	done
}

# swept <repository> <verb...>: killed and failed at each step
swept () {
	for how in kill fail; do
		n=0 rc=1
		while [ $rc != 0 ]; do
			n=$((n + 1)) && rm -rf sweep && cp -Rp "$1" sweep || return 1
			# shellcheck disable=SC2086 # a verb and its option
			(cd sweep && KLINEAGE_FAULT=$n:$how "$KLINEAGE_TOP/build-fault/git-klineage" hooks $2) >sweep.out 2>&1
			rc=$?
			if ! once "$1" "$2"; then
				echo "$how at $n" >&2
				return 1
			fi
		done
		test $n -ge 4 || return 1
	done
}

test_expect_success FAULT 'killed or failed at any step of install and uninstall: nothing is lost, and all can be undone' '
	repo faulty && foreign faulty/.git/hooks/pre-push && foreign faulty/.git/hooks/pre-commit 750 &&
	listing faulty/.git/hooks >swept.want && swept faulty "install --chain" && (cd faulty && git klineage hooks install --chain) &&
	swept faulty uninstall
'

# --- the shapes of repositories -------------------------------------------------

test_expect_success 'a linked worktree: one set of hooks for all, judged by its own index' '
	repo trees && git -C trees worktree add -q ../linked && (
		cd linked && git klineage hooks install >../out && cp "$bad"/zeros.c mm.c &&
		exits 1 git commit -q -a -m zeros 2>../err && git checkout -q mm.c && cp "$good"/kahan.c mm.c &&
		git commit -q -a -m kahan && git notes --ref=klineage/gate show HEAD >/dev/null
	) && test -x trees/.git/hooks/pre-commit && says trees/.git/hooks out && says "mm: FAIL" err &&
	(cd trees && git klineage hooks status >/dev/null && git klineage hooks uninstall)
'

test_expect_success 'a bare repository has no commits of its own, its worktrees have' '
	git clone -q --bare trees bare.git && (cd bare.git && exits 128 git klineage hooks install 2>../err) &&
	says "bare repository" err && git -C bare.git worktree add -q ../of-bare main &&
	(cd of-bare && git klineage hooks install) && test -x bare.git/hooks/pre-commit && (
		cd of-bare && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros 2>../err
	) && says "mm: FAIL" err
'

test_expect_success 'a submodule' '
	repo sub && git init -q super && (
		cd super && git -c protocol.file.allow=always submodule --quiet add ../sub sub && git commit -q -m sub &&
		cd sub && git klineage hooks install && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros 2>../../err &&
		cp "$good"/kahan.c mm.c && git commit -q -a -m kahan && git notes --ref=klineage/gate show HEAD >/dev/null &&
		cd .. && git commit -q -a -m "sub moved"
	) && says "mm: FAIL" err && test -x super/.git/modules/sub/hooks/pre-commit &&
	test_must_fail test -e super/.git/hooks/pre-commit.klineage-chained
'

test_expect_success 'from a directory below the top' '
	repo below && mkdir below/deep && echo x >below/deep/x && (
		cd below/deep && git klineage hooks install && git add . && git commit -q -m x && cp "$bad"/zeros.c ../mm.c &&
		exits 1 git commit -q -a -m zeros 2>../../err
	) && says "mm: FAIL" err
'

# --- core.hooksPath -----------------------------------------------------------------

test_expect_success 'core.hooksPath inside the git directory is ours to use' '
	repo inside && git -C inside config core.hooksPath "$PWD/inside/.git/own hooks" &&
	(cd inside && git klineage hooks install) && test -x "inside/.git/own hooks/pre-commit" && (
		cd inside && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros 2>../err && git klineage hooks uninstall
	) && says "mm: FAIL" err && test_must_fail test -e "inside/.git/own hooks/pre-commit"
'

test_expect_success 'a directory of the worktree is tracked: said, not written' '
	repo tracked && mkdir tracked/.githooks && git -C tracked config core.hooksPath .githooks &&
	(cd tracked && mkdir deep && cd deep && exits 1 git klineage hooks install >../../out) &&
	says ".githooks/pre-commit:" out && says "git klineage hooks run pre-commit" out && ! ls -A tracked/.githooks | grep . &&
	test "$(state pre-commit tracked)" = absent
'

test_expect_success 'the line that was said works' '
	sed -n "/pre-commit:/{ n; s/^ *//p; }" out | head -n 1 >line.sh && says "hooks run pre-commit" line.sh &&
	{ echo "#!/bin/sh"; cat line.sh; } >tracked/.githooks/pre-commit && chmod +x tracked/.githooks/pre-commit &&
	test "$(state pre-commit tracked)" = called && (
		cd tracked && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros 2>../err
	) && says "mm: FAIL" err && (cd tracked && git klineage hooks uninstall >../out) && says "remove manually" out
'

test_expect_success 'husky: its own directory, and the files beside it' '
	repo husky && mkdir -p husky/.husky/_ && git -C husky config core.hooksPath .husky/_ &&
	(cd husky && exits 1 git klineage hooks install >../out) && says "husky manages" out &&
	says ".husky/pre-commit:" out && ! grep "_/pre-commit" out &&
	for e in $events; do
		echo "git klineage hooks run $e -- \"\$@\"" >husky/.husky/$e || return 1
	done && (cd husky && git klineage hooks install >../out) && says "already" out
'

test_expect_success 'a directory for all repositories is nobody else to fill' '
	mkdir global && repo outside && git -C outside config core.hooksPath "$PWD/global" &&
	(cd outside && exits 1 git klineage hooks install >../out) && says "other repositories" out &&
	says "$PWD/global/pre-commit:" out && ! ls -A global | grep . &&
	git -C outside config core.hooksPath /dev/null && (cd outside && exits 1 git klineage hooks install >../out)
'

# --- other tools ---------------------------------------------------------------------

test_expect_success 'the pre-commit framework: what to add' '
	repo framework && echo "repos: []" >framework/.pre-commit-config.yaml &&
	(cd framework && exits 1 git klineage hooks install >../out) && says "pre-commit manages" out &&
	says "entry: git klineage hooks run pre-commit" out && says ".pre-commit-config.yaml" out &&
	sed -n "/- repo:/,/^\$/p" out >part && { echo repos: && cat part; } >framework/.pre-commit-config.yaml &&
	(cd framework && git klineage hooks install >../out) && says "already" out
'

test_expect_success 'the ids of .pre-commit-hooks.yaml are those that are looked for' '
	for id in klineage-gate klineage-note klineage-push; do
		grep "id: $id\$" "$KLINEAGE_TOP/.pre-commit-hooks.yaml" && grep "id: $id\$" part || return 1
	done
'

test_expect_success 'the framework calls us by its own variables at a push' '
	(cd framework && git add . && git commit -q -m config && git remote add origin ../up.git &&
	 PRE_COMMIT_REMOTE_NAME=origin PRE_COMMIT_FROM_REF=0000000000000000000000000000000000000000 \
	 PRE_COMMIT_TO_REF=$(git rev-parse HEAD) PRE_COMMIT_REMOTE_BRANCH=refs/heads/x \
		exits 1 git -c klineage.hooks.push=gate klineage hooks run pre-push </dev/null >../out) && says "not judged" out
'

test_expect_success 'which are fewer when it pushes a whole history' '
	(cd framework && PRE_COMMIT_REMOTE_NAME=origin PRE_COMMIT_LOCAL_BRANCH=refs/heads/main PRE_COMMIT_REMOTE_BRANCH=refs/heads/x \
		exits 1 git -c klineage.hooks.push=gate klineage hooks run pre-push </dev/null >../out) && says "not judged" out
'

test_expect_success '--chain in spite of it, where its hook is chained' '
	foreign framework/.git/hooks/pre-commit && (cd framework && git klineage hooks install --chain) &&
	test "$(state pre-commit framework)" = chained && (cd framework && git klineage hooks uninstall) &&
	ls framework/.git/hooks >left && echo pre-commit >want && test_cmp want left
'

test_expect_success 'lefthook: what to add' '
	repo lefthook && echo "{}" >lefthook/lefthook.yml && (cd lefthook && exits 1 git klineage hooks install >../out) &&
	says "lefthook manages" out && says "run: git klineage hooks run pre-push" out
'

# --- newer git -----------------------------------------------------------------------

# one that says it is newer, and knows nothing more
mkdir newer && cat >newer/git <<EOF && chmod +x newer/git
#!/bin/sh
for a; do
	case \$a in --git-dir=*) continue ;; version) echo "git version 2.54.1"; exit ;; esac
	break
done
exec $(command -v git) "\$@"
EOF

test_expect_success 'git 2.54: entries of the configuration, beside a foreign file' '
	repo entries && foreign entries/.git/hooks/pre-commit && cp entries/.git/config config.before &&
	(cd entries && PATH=$PWD/../newer:$PATH git-klineage hooks install >../out) && says "set in the config" out &&
	test "$(git -C entries config hook.klineage-pre-push.event)" = pre-push &&
	test "$(PATH=$PWD/newer:$PATH state pre-commit entries)" = ours && ls entries/.git/hooks >left &&
	echo pre-commit >want && test_cmp want left
'

test_expect_success 'the command that is named works, wherever the repository is' '
	mv entries moved && (
		cd moved && cp "$bad"/zeros.c mm.c && git add mm.c &&
		exits 1 sh -c "$(git config hook.klineage-pre-commit.command) \"\$@\"" >../out 2>&1
	) && says "mm: FAIL" out
'

test_expect_success 'and back' '
	(cd moved && PATH=$PWD/../newer:$PATH git-klineage hooks uninstall) && test_cmp config.before moved/.git/config &&
	test_must_fail test -e moved/.git/klineage/hooks
'

# --- poor environments ----------------------------------------------------------------

test_expect_success 'the environment of a desktop client: no PATH, no HOME, no terminal' '
	repo poor && (
		cd poor && git config user.name "A U Thor" && git config user.email a@example.invalid &&
		git klineage hooks install && cp "$bad"/zeros.c mm.c &&
		exits 1 env -i "$(command -v git)" commit -q -a -m zeros </dev/null >../out 2>&1 &&
		cp "$good"/kahan.c mm.c && env -i "$(command -v git)" commit -q -a -m kahan </dev/null >../good 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null
	) && says "mm: FAIL" out && says "mm: pass, checked" good
'

test_expect_success 'the program is gone: said, and stopped only where that was asked for' '
	(
		cd poor && sed -i "s,^installed=.*,installed=/nowhere/git-klineage," .git/hooks/pre-commit &&
		echo "/* more */" >>mm.c && git add mm.c &&
		env -i PATH=/usr/bin:/bin sh .git/hooks/pre-commit 2>../err &&
		git config klineage.hooks.block untested && exits 1 env -i PATH=/usr/bin:/bin sh .git/hooks/pre-commit 2>>../err
	) && test "$(grep -c "git-klineage is not on PATH" err)" = 2
'

test_expect_success 'a repository that cannot be read: said, and stopped only where that was asked for' '
	git init -q --object-format=sha256 sha256 && (
		cd sha256 && echo x >x && git add x && git klineage hooks run pre-commit 2>../err &&
		exits 1 git -c klineage.hooks.block=untested klineage hooks run pre-commit 2>>../err
	) && test "$(grep -c "nothing was judged" err)" = 2
'

test_done
