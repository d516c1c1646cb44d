#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='hooks as entries of the configuration, with a git that runs them (2.54 and later)'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
good=$cheats/accepted
bad=$cheats/refused
events='pre-commit pre-merge-commit post-commit post-merge pre-push'

case $(git version) in
'git version '[01].*|'git version 2.'[0-9].*|'git version 2.'[1-4][0-9].*|'git version 2.5'[0-3].*)
	say "# $(git version): older than 2.54 (KLINEAGE_GIT=<directory> says where a newer one is); 0912 pretends one" ;;
*)
	test_set_prereq ENTRIES ;;
esac

# one that says it is older
mkdir older && cat >older/git <<EOF && chmod +x older/git
#!/bin/sh
for a; do
	case \$a in --git-dir=*) continue ;; version) echo "git version 2.39.5"; exit ;; esac
	break
done
exec "$(command -v git)" "\$@"
EOF

repo () {
	git init -q --template= "$1" && mkdir -p "$1/.git/hooks" &&
	cp "$cheats"/klineage.yaml "$cheats"/oracle.c "$1" && cp "$good"/plain.c "$1"/mm.c &&
	git -C "$1" add . && git -C "$1" commit -q -m first
}

# state <event> <repository>
state () {
	(cd "$2" && git-klineage hooks status --json) | perl -MJSON::PP -e '
		my $j = decode_json(join "", <STDIN>);
		print $_->{state}, "\n" for grep { $_->{event} eq $ARGV[0] } @{$j->{hooks}}' "$1"
}

# judged <repository> <word>: git itself stops what is broken, and notes what passes; once
judged () {
	(
		cd "$1" && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros >../out 2>&1 &&
		test "$(grep -c "mm: FAIL" ../out)" = 1 && { cat "$good"/kahan.c && echo "/* $2 */"; } >mm.c &&
		git commit -q -a -m kahan >../out 2>&1 && test "$(grep -c "mm: pass" ../out)" = 1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null
	)
}

test_expect_success ENTRIES 'git runs the entries, beside a file of somebody else s, which stays' '
	repo repo && printf "#!/bin/sh\necho theirs\n" >repo/.git/hooks/pre-commit && chmod +x repo/.git/hooks/pre-commit &&
	cp repo/.git/config config.before && (cd repo && git klineage hooks install >../out) && says "set in the config" out &&
	for e in $events; do
		test "$(state $e repo)" = ours && git -C repo hook list $e | grep -i klineage || return 1
	done &&
	judged repo 1 && says theirs out && ls repo/.git/hooks >left && echo pre-commit >want && test_cmp want left
'

test_expect_success ENTRIES 'partial commits, amends, merges, cherry-picks, rebases; in a linked worktree' '
	git -C repo worktree add -q -b side ../linked && (
		cd linked && cp "$good"/recursion.c mm.c && git commit -q -m recursion mm.c >../out 2>&1 && says "mm: pass" ../out &&
		cp "$bad"/zeros.c mm.c && exits 1 git commit -q --amend -a --no-edit >../out 2>&1 && git checkout -q mm.c &&
		cd ../repo && echo x >x && git add x && git commit -q -m x && git merge -q --no-edit side >../out 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null && git reset -q --hard HEAD^ && git cherry-pick side >../out 2>&1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null && cd ../linked && git rebase -q main^ >../out 2>&1
	) && git -C repo fsck --strict && git -C repo worktree remove --force ../linked
'

test_expect_success ENTRIES 'notes travel at a push' '
	git init -q --bare up.git && git -C repo remote add origin ../up.git && git -C repo push -q origin main >out 2>&1 &&
	says "pushed the notes" out && git -C up.git rev-parse -q --verify refs/notes/klineage/gate &&
	git -C repo remote remove origin
'

test_expect_success ENTRIES 'one that is switched off is off, as git has it' '
	(cd repo && cp "$bad"/zeros.c mm.c && git -c hook.klineage-pre-commit.enabled=false commit -q -a -m off && git reset -q --hard HEAD^)
'

test_expect_success ENTRIES 'uninstall leaves the configuration as it was' '
	(cd repo && git klineage hooks uninstall) && test_cmp config.before repo/.git/config &&
	test_must_fail test -e repo/.git/klineage/hooks && test -x repo/.git/hooks/pre-commit
'

test_expect_success ENTRIES 'installed under an older git: the files work on, and become entries, and nobody is judged twice' '
	repo grown && printf "#!/bin/sh\necho theirs\n" >grown/.git/hooks/pre-commit && chmod +x grown/.git/hooks/pre-commit &&
	cp grown/.git/hooks/pre-commit theirs && (cd grown && PATH=$PWD/../older:$PATH git-klineage hooks install --chain >../out) &&
	says "installed hooks in .git/hooks" out && ! git -C grown config --get-regexp "^hook" &&
	test "$(state pre-commit grown)" = chained && test "$(state pre-push grown)" = ours && judged grown 2 &&
	(cd grown && git klineage hooks install) && judged grown 3 && says theirs out && test_cmp theirs grown/.git/hooks/pre-commit &&
	ls grown/.git/hooks >left && echo pre-commit >want && test_cmp want left
'

test_expect_success ENTRIES 'and back under an older git' '
	(cd grown && PATH=$PWD/../older:$PATH git-klineage hooks install --chain) && judged grown 4 && ! git -C grown config --get-regexp "^hook" &&
	test_must_fail test -e grown/.git/klineage/hooks && (cd grown && git klineage hooks uninstall) && test_cmp theirs grown/.git/hooks/pre-commit
'

test_expect_success ENTRIES 'where something calls us already, there is no second call' '
	repo husky && mkdir -p husky/.husky/_ && git -C husky config core.hooksPath .husky/_ &&
	printf "#!/bin/sh\n. \"\$(dirname \"\$0\")/../\$(basename \"\$0\")\"\n" >husky/.husky/_/pre-commit && chmod +x husky/.husky/_/pre-commit &&
	echo "git klineage hooks run pre-commit -- \"\$@\"" >husky/.husky/pre-commit && test "$(state pre-commit husky)" = called &&
	(cd husky && git klineage hooks install) && judged husky 5 && ! git -C husky config hook.klineage-pre-commit.event &&
	test "$(git -C husky config hook.klineage-pre-push.event)" = pre-push && test "$(state post-commit husky)" = ours &&
	repo framework && cp "$KLINEAGE_TOP"/templates/hooks/pre-commit.yaml framework/.pre-commit-config.yaml &&
	test "$(state post-merge framework)" = called
'

test_done
