#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage skills: a library of cards, and what comes in and goes out'
. ./lib.sh

data=$KLINEAGE_TOP/tests/data/library
row=keep-the-row-in-shared-memory-ef97c74
sum='sum-by-shuffles-8e9d908'
skills=refs/heads/klineage/skills
warp_event=8e9d9087de5e3a9ef6999c792f4d379d434b8f2cd9dd6970856f2c51f395d359

# repo <name>: an empty repository, and stand in it
repo () {
	cd "$SHARNESS_TRASH_DIRECTORY" && rm -rf "$1" && git init -q "$1" && cd "$1" || return 1
}

# edit <card> <sed script>: change a card by hand and commit it, in a worktree of its own
edit () {
	git worktree add -q ../hand klineage/skills &&
	(cd ../hand && sed "$2" "cards/$1.yaml" >new && mv new "cards/$1.yaml" && git commit -q -a -m "by hand") &&
	git worktree remove --force ../hand
}

test_expect_success 'an empty library is empty, and says where cards come from' '
	repo empty &&
	git klineage skills list >out 2>err && test ! -s out && says "git klineage lift" err &&
	exits 128 git klineage skills show nothing 2>err && says "the library is empty" err &&
	git klineage skills lint >out && says "0 cards: 0 errors, 0 warnings" out &&
	git klineage fsck >out && says "0 cards: 0 errors" out &&
	exits 128 git klineage skills export 2>err && says "no cards to export" err &&
	test -z "$(git for-each-ref)"
'

test_expect_success 'import takes cards with their evidence, one commit for each' '
	repo one &&
	git klineage skills import "$data" >out && says "2 new cards, 0 merged, 0 unchanged" out &&
	test "$(git log --oneline $skills | wc -l)" = 3 &&
	git diff-tree --name-only -r --no-commit-id $skills >paths &&
	test "$(grep -c ^cards/ paths)" = 1 &&
	for c in $row $sum; do
		git cat-file blob "$skills:cards/$c.yaml" >got && cmp "$data/cards/$c.yaml" got || return 1
	done &&
	git ls-tree -r --name-only $skills evidence >have &&
	(cd "$data" && find evidence -type f | sort) >want && diff want have &&
	git fsck --strict &&
	git klineage fsck >out && says "2 cards: 0 errors, 0 warnings" out
'

test_expect_success 'its first commit is the same everywhere' '
	root=$(git rev-list --max-parents=0 $skills) &&
	test "$(git show -s --format="%an %ae %at %ct %T" "$root")" = \
		"git-klineage klineage@example.invalid 0 0 $(git hash-object -t tree /dev/null)" &&
	repo two && GIT_AUTHOR_DATE="2027-01-01T00:00:00Z" GIT_AUTHOR_NAME=Else git klineage skills import "$data/cards/$sum.yaml" &&
	test "$(git rev-list --max-parents=0 $skills)" = "$root"
'

test_expect_success 'list and show' '
	cd ../one &&
	git klineage skills list >out && says "$row  hypothesis  1         0/1       0/0     cuda" out &&
	git klineage skills list --json >out && says "\"schema\":\"klineage.skills/1\"" out && says "\"evidence\":1" out &&
	git klineage skills list --status admitted >out 2>err && test ! -s out &&
	git klineage skills show --raw sum-by >out && cmp out "$data/cards/$sum.yaml" &&
	git klineage skills show --json $sum >out && says "\"ratio\":1.114518" out &&
	exits 128 git klineage skills show s-by 2>err && says "there is no card" err
'

test_expect_success 'for people: what, when, how much, proof, and the edit last' '
	git klineage skills show $sum >page && cat page && exits 129 git klineage skills show --raw --json $sum &&
	grep -n -e "^$sum (hypothesis)" -e "^When$" -e "^How much$" -e "^Proof$" -e "^How: " page | cut -d: -f2 | uniq >parts && cat parts &&
	printf "%s\n" "$sum (hypothesis)" When "How much" Proof How >want && test_cmp want parts && says "1.11x" page && says "not tried on another kernel yet" page
'

test_expect_success 'importing again changes nothing' '
	before=$(git rev-parse $skills) &&
	git klineage skills import "$data" >out && says "0 new cards, 0 merged, 2 unchanged" out &&
	test "$(git rev-parse $skills)" = "$before"
'

for format in yaml json skill-md
do
	test_expect_success "export as $format, and back" '
		cd "$SHARNESS_TRASH_DIRECTORY/one" &&
		git klineage skills export --format '$format' -o "../out-$format" >out && says "2 cards" out &&
		tree=$(git rev-parse $skills^{tree}) &&
		repo "from-$format" &&
		git klineage skills import "../out-$format" >out && says "2 new cards" out &&
		test "$(git rev-parse $skills^{tree})" = "$tree" &&
		git klineage fsck >out && says "2 cards: 0 errors, 0 warnings" out
	'
done

test_expect_success 'a SKILL.md is one for agents, too' '
	md=../out-skill-md/$sum/SKILL.md &&
	test "$(sed -n 1p "$md")" = "---" && says "name: $sum" "$md" && says "description: \"sums within" "$md" &&
	says "| topk | f32 | cuda | cuda/sm_90 | 1.114518 | no |" "$md"
'

test_expect_success 'a bad card is refused with its line, and the others come in' '
	repo bad && cp -r "$data" ../bad-cards && cd ../bad-cards &&
	sed "s/status: hypothesis/status: admitted/" "cards/$row.yaml" >new && mv new "cards/$row.yaml" &&
	cd ../bad &&
	exits 128 git klineage skills import ../bad-cards >out 2>err &&
	says "1 new card, 0 merged, 0 unchanged, 1 refused" out &&
	says "$row.yaml:3:9: status is admitted, but the trials make it hypothesis" err &&
	git cat-file -e "$skills:cards/$sum.yaml" &&
	test_must_fail git cat-file -e "$skills:cards/$row.yaml"
'

test_expect_success 'evidence that is missing or was changed is refused' '
	cd .. && rm -rf torn && cp -r "$data" torn && cd torn &&
	e=evidence/8e/$warp_event.json && mv $e kept && cd ../bad && before=$(git rev-parse $skills) &&
	git update-ref -d $skills &&
	exits 128 git klineage skills import "../torn/cards/$sum.yaml" 2>err && says "cited event 8e9d9087de5e is neither next to the card nor in this clone" err &&
	sed "s/\"verdict\":\"pass\"/\"verdict\":\"fail\"/" ../torn/kept >../torn/$e &&
	exits 128 git klineage skills import "../torn/cards/$sum.yaml" 2>err && says "does not match its id" err &&
	test -z "$(git for-each-ref)"
'

test_expect_success 'a card of a newer schema is refused kindly, a SKILL.md of others, too' '
	sed "s/schema: 1/schema: 9/" "$data/cards/$sum.yaml" >newer.yaml &&
	exits 128 git klineage skills import newer.yaml 2>err && says "card schema 9 is newer than 2" err &&
	printf -- "---\nname: x\n---\n# x\n" >x.md &&
	exits 128 git klineage skills import x.md 2>err && says "contains no card" err &&
	exits 128 git klineage skills import nowhere 2>err && says "nowhere" err &&
	mkdir -p nothing && exits 128 git klineage skills import nothing 2>err && says "no card in" err
'

test_expect_success 'trials of others are kept and count for nothing' '
	cd .. && rm -rf told && cp -r "$data" told && cd told &&
	sed -e "s/status: hypothesis/status: admitted/" -e "/^ver: /d" "cards/$sum.yaml" >new &&
	cat >>new <<-END &&
	ver:
	  - {trial: 1, level: other-workload, workload: w, case: topk, dims: {}, dtype: f32, language: cuda, platform: cuda/sm_90,
	     state: $(printf %040d 1), result: pass, ratio: 0.8, event: $warp_event, how: agent, isolated: true}
	END
	mv new "cards/$sum.yaml" && repo foreign &&
	git klineage skills import "../told/cards/$sum.yaml" && git klineage skills show --raw $sum >out &&
	says "status: hypothesis" out && says "foreign: true" out && says "result: pass" out
'

test_expect_success 'lint tells the line, what is not canonical, and mends it' '
	repo lint && cp -r "$data/cards" . &&
	git klineage skills lint cards >out && says "2 cards: 0 errors, 0 warnings" out &&
	sed "s/redux, shfl/shfl, redux/" "cards/$sum.yaml" >new && mv new "cards/$sum.yaml" &&
	exits 1 git klineage skills lint cards >out && says "warning: cards/$sum.yaml: not canonical from line 19 on" out &&
	git klineage skills lint --fix cards >out && cmp "cards/$sum.yaml" "$data/cards/$sum.yaml" &&
	cp "cards/$sum.yaml" cards/twin.yaml && exits 1 git klineage skills lint cards >out &&
	says "belongs in $sum.yaml" out && says "is also in cards/$sum.yaml" out && rm cards/twin.yaml &&
	sed "s/mechanism: /mechanisms: /" "cards/$sum.yaml" >new && mv new "cards/$sum.yaml" &&
	exits 1 git klineage skills lint --json cards >out &&
	says "cards/$sum.yaml:5:1: unknown key '\''mechanisms'\'' in the card" out && says "\"errors\":1" out
'

test_expect_success 'cards in files need no repository, those of the library do' '
	cd "$SHARNESS_TRASH_DIRECTORY" && mkdir nowhere && cd nowhere && cp -r "$data/cards" . && exits 128 git rev-parse --git-dir &&
	git klineage skills lint cards >out && says "2 cards: 0 errors, 0 warnings" out &&
	sed "s/redux, shfl/shfl, redux/" "cards/$sum.yaml" >new && mv new "cards/$sum.yaml" &&
	git klineage skills lint --fix cards >out && cmp "cards/$sum.yaml" "$data/cards/$sum.yaml" &&
	for what in lint list "show $sum" "retract --reason x $sum" "import cards"; do
		exits 128 git klineage skills $what >out 2>err && says "repository" err || return 1
	done
'

test_expect_success 'a retracted card stays as a tombstone, and does not come back' '
	repo retract && git klineage skills import "$data" &&
	exits 129 git klineage skills retract $sum 2>err && says "needs --reason" err &&
	git klineage skills retract $sum --reason "slower on every device" >out &&
	git klineage skills list --status retracted >out && says $sum out &&
	git log -1 --format=%B $skills >out && says "skills: retract $sum" out && says "slower on every device" out &&
	exits 128 git klineage skills retract $sum --reason again 2>err && says "is already retracted" err &&
	git klineage skills import "$data" >out && says "0 new cards, 0 merged, 2 unchanged" out &&
	git klineage skills list --status retracted >out && says $sum out &&
	git klineage fsck >out && says "0 errors, 0 warnings" out
'

test_expect_success 'the log of a card is its life' '
	git log --format=%s $skills -- "cards/$sum.yaml" >out &&
	printf "skills: retract %s\nskills: import %s\n" $sum $sum >want && diff want out
'

test_expect_success 'fsck finds evidence that is gone, changed, of other files, and numbers that no event says' '
	repo broken && git klineage skills import "$data" &&
	edit $sum "s/ratio: .*/ratio: 9.5/" &&
	exits 1 git klineage fsck >out && says "error: cards/$sum.yaml: a row has ratio 9500000 ppm" out &&
	git klineage skills lint &&
	git update-ref $skills $skills~1 &&
	git worktree add -q ../hand klineage/skills &&
	(cd ../hand && git rm -q evidence/8e/* && git commit -q -m gone) && git worktree remove ../hand &&
	exits 1 git klineage fsck >out && says "the card cites event 8e9d9087de5e, which is not usable: no " out &&
	git update-ref $skills $skills~1 &&
	edit $row "s/class: wrong-all/class: fault/" &&
	exits 1 git klineage fsck >out && says "a risk has class '\''fault'\'', but its event bb10b864f2af has '\''wrong-all'\''" out &&
	git update-ref $skills $skills~1 &&
	edit $row "s/platform: cuda.sm_90/platform: cuda\/sm_120/" &&
	exits 1 git klineage fsck >out && says "is for cuda/sm_120, but its event is for cuda/sm_90" out &&
	exits 1 git klineage fsck --json >out && says "\"cards\":2" out
'

test_expect_success 'fsck compares events with the commits that this clone has' '
	git update-ref $skills $skills~1 && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-topk" &&
	git klineage fsck >out && says "0 errors" out &&
	other=$(git rev-list --max-parents=0 --branches=klineage/lineage | tail -1) &&
	edit $sum "s/after: .*/after: $other/" &&
	exits 1 git klineage fsck >out && says "is for other files than those of commit $(git rev-parse --short=12 $other)" out
'

test_expect_success 'a branch that somebody stands on is not moved' '
	repo stand && git klineage skills import "$data/cards/$sum.yaml" && git checkout -q klineage/skills &&
	exits 128 git klineage skills import "$data" 2>err && says "is checked out in a worktree" err &&
	git diff --exit-code HEAD && test "$(git log --oneline | wc -l)" = 2
'

test_expect_success 'the library can be another branch' '
	repo named && git config klineage.skillsRef refs/heads/team/cards && git klineage skills import "$data" &&
	git cat-file -e "refs/heads/team/cards:cards/$sum.yaml" &&
	git config klineage.skillsRef cards && exits 128 git klineage skills list 2>err && says "must be a branch" err
'

# --- merging ------------------------------------------------------------------

risk () {	# risk <text>: sed that adds a row
	printf 's/^risk: .*/risk:\\n  - {class: slower, text: %s, events: [%s]}/' "$1" "$warp_event"
}

test_expect_success 'two libraries merge by plain git' '
	repo left && git klineage skills import "$data/cards/$sum.yaml" &&
	repo right && git klineage skills import "$data/cards/$row.yaml" &&
	cd ../left && git fetch -q ../right klineage/skills && git checkout -q klineage/skills &&
	git merge -q -m both FETCH_HEAD && git checkout -q --orphan aside && git rm -q -r --cached . && git clean -fdq &&
	git klineage skills list >out && test "$(wc -l <out)" = 3 &&
	git klineage fsck >out && says "2 cards: 0 errors, 0 warnings" out
'

test_expect_success 'the driver unites what text would not, field by field' '
	repo a && git klineage skills import "$data" && git clone -q . ../b.git --bare &&
	edit $sum "$(risk "on small inputs")" &&
	cd .. && rm -rf b && git clone -q b.git b && cd b && git branch -q klineage/skills origin/klineage/skills &&
	edit $sum "$(risk "on two devices")" &&
	cd ../a && git fetch -q ../b klineage/skills && git checkout -q klineage/skills &&
	test_must_fail git merge FETCH_HEAD && git merge --abort &&
	git klineage skills install-merge >out && says merge.klineage-card.driver out &&
	git merge -q -m both FETCH_HEAD &&
	says "on small inputs" "cards/$sum.yaml" && says "on two devices" "cards/$sum.yaml" &&
	git klineage skills lint cards && git klineage fsck >out && says "0 errors, 0 warnings" out &&
	tree=$(git rev-parse HEAD^{tree}) &&
	cd ../b && git klineage skills install-merge && git fetch -q ../a klineage/skills && git checkout -q klineage/skills &&
	git merge -q -m both FETCH_HEAD^1 && test "$(git rev-parse HEAD^{tree})" = "$tree" &&
	git klineage skills install-merge --undo && test_must_fail git config --get merge.klineage-card.driver &&
	git klineage skills install-merge --undo
'

test_expect_success 'a text that both sides changed stops the merge, and nothing is lost' '
	repo c && git klineage skills import "$data" && git klineage skills install-merge &&
	git branch -q other klineage/skills &&
	edit $sum "s/^intent: .*/intent: one wording/" &&
	git worktree add -q ../hand other && (cd ../hand &&
	sed "s/^intent: .*/intent: two wordings/" "cards/$sum.yaml" >new && mv new "cards/$sum.yaml" && git commit -qam two) &&
	git worktree remove ../hand &&
	git checkout -q klineage/skills && test_must_fail git merge other 2>err && says "both sides changed intent" err &&
	git ls-files -u >out && test "$(wc -l <out)" = 3 && says "intent: two wordings" "cards/$sum.yaml" &&
	git show ":2:cards/$sum.yaml" >out && says "one wording" out
'

test_expect_success 'eight writers at once lose nothing' '
	repo many && git klineage skills import "$data/cards/$sum.yaml" &&
	for i in 1 2 3 4 5 6 7 8; do
		mkdir -p "../w$i/cards" && cp -r "$data/evidence" "../w$i/" &&
		sed "s/^id: .*/id: copy-$i/" "$data/cards/$row.yaml" >"../w$i/cards/copy-$i.yaml" || return 1
	done &&
	for i in 1 2 3 4 5 6 7 8; do
		git klineage skills import "../w$i" >"out$i" 2>&1 &
	done && wait &&
	git klineage skills list >out && test "$(grep -c copy- out)" = 8 &&
	test "$(git log --oneline $skills | wc -l)" = 10 && git fsck --strict &&
	git klineage fsck >out && says "9 cards: 0 errors, 0 warnings" out
'

test_expect_success 'what it does not know it says' '
	exits 129 git klineage skills 2>err && says "missing subcommand" err &&
	exits 129 git klineage skills dance 2>err && says "unknown subcommand" err &&
	exits 129 git klineage skills export --format pdf 2>err && says "unknown format" err &&
	exits 129 git klineage skills export 2>err && says "needs --output <directory>" err &&
	exits 129 git klineage skills lint --fix 2>err && says "needs files" err
'

test_done
