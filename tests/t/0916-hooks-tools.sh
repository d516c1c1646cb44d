#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='as a new user would: what hooks install says to add, added, under the tools that run hooks'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
good=$cheats/accepted
bad=$cheats/refused
events='pre-commit pre-merge-commit post-commit post-merge pre-push'

for tool in pre-commit lefthook; do
	if command -v $tool >/dev/null; then
		test_set_prereq "$(echo $tool | tr -d - | tr '[:lower:]' '[:upper:]')"
	else
		say "# no $tool here: not tried with it"
	fi
done

repo () {
	git init -q --template= "$1" && mkdir -p "$1/.git/hooks" && git init -q --bare "$1.git" &&
	cp "$cheats"/klineage.yaml "$cheats"/oracle.c "$1" && cp "$good"/plain.c "$1"/mm.c &&
	git -C "$1" add . && git -C "$1" commit -q -m first && git -C "$1" remote add origin "../$1.git"
}

# works <repository>: stopped, made, noted, merged, pushed with its note, and once
works () {
	(
		cd "$1" && head=$(git rev-parse HEAD) && cp "$bad"/zeros.c mm.c && exits 1 git commit -q -a -m zeros >../out 2>&1 &&
		test "$(git rev-parse HEAD)" = "$head" && test "$(grep -c "mm: FAIL" ../out)" = 1 &&
		cp "$good"/kahan.c mm.c && git commit -q -m kahan mm.c >../out 2>&1 && test "$(grep -c "mm: pass" ../out)" = 1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null &&
		git checkout -q -b side HEAD^ && echo x >x && git add x && git commit -q -m x && git checkout -q - &&
		cp "$good"/recursion.c mm.c && git commit -q -a -m recursion >../out 2>&1 && git checkout -q side &&
		git merge -q --no-edit - >../out 2>&1 && test "$(grep -c "mm: pass" ../out)" = 1 &&
		git notes --ref=klineage/gate show HEAD >/dev/null && git push -q origin side >../out 2>&1 &&
		git --git-dir="../$1.git" notes --ref=klineage/gate show side >/dev/null &&
		cp "$bad"/zeros.c mm.c && git commit -q --no-verify -a -m forced && git fsck --strict
	)
}

# a directory as husky 9 lays it out: core.hooksPath names .husky/_, whose files run those of .husky
husky () {
	mkdir -p "$1/.husky/_" && git -C "$1" config core.hooksPath .husky/_ && cat >"$1/.husky/_/h" <<-\EOF &&
		#!/usr/bin/env sh
		n=$(basename "$0")
		s=$(dirname "$(dirname "$0")")/$n
		[ ! -f "$s" ] && exit 0
		export PATH="node_modules/.bin:$PATH"
		sh -e "$s" "$@"
		c=$?
		[ $c != 0 ] && echo "husky - $n script failed (code $c)"
		exit $c
	EOF
	for e in $events; do
		printf '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n' >"$1/.husky/_/$e" && chmod +x "$1/.husky/_/$e" || return 1
	done && echo '*' >"$1/.husky/_/.gitignore"
}

# with a newer git install makes entries instead: 0913
case $(git version) in 'git version 2.'[1-4][0-9].*|'git version 2.5'[0-3].*) test_set_prereq OLDER ;; esac

test_expect_success OLDER 'husky: what it says to add is a line a file' '
	repo husky && husky husky && (cd husky && exits 1 git klineage hooks install >../said) && says "husky manages" said &&
	sed -n "/^    [^ ]*:\$/{ s/^ *//; s/:\$//; h; n; s/^ *//; G; s/\n/|/; p; }" said >lines && test "$(wc -l <lines)" = 5
'

test_expect_success OLDER 'and so it works' '
	(
		cd husky && while IFS="|" read -r line file; do
			echo "$line" >"$file" || exit 1
		done <../lines && git klineage hooks status >/dev/null && git add .husky && git commit -q -m husky
	) && works husky
'

test_expect_success OLDER 'a directory of the team s own, tracked: likewise' '
	repo own && mkdir own/.githooks && git -C own config core.hooksPath .githooks && (cd own && exits 1 git klineage hooks install >../said) &&
	sed -n "/^    [^ ]*:\$/{ s/^ *//; s/:\$//; h; n; s/^ *//; G; s/\n/|/; p; }" said >lines && (
		cd own && while IFS="|" read -r line file; do
			{ echo "#!/bin/sh" && echo "$line"; } >"$file" && chmod +x "$file" || exit 1
		done <../lines && git klineage hooks status >/dev/null
	) && works own
'

# stages had other names before 3.2, as the text that is printed says
renamed=
case $(pre-commit --version 2>/dev/null) in
*' '[012].*|*' '3.[01].*) renamed='s/pre-commit, pre-merge-commit/commit, merge-commit/; s/\[pre-push\]/[push]/' ;;
'') ;;
*) test_set_prereq STAGES ;;
esac

test_expect_success PRECOMMIT,OLDER 'the pre-commit framework: what it says to add' '
	repo framework && echo "repos:" >framework/.pre-commit-config.yaml && (cd framework && exits 1 git klineage hooks install >../said) &&
	says "called commit, merge-commit and push" said &&
	sed -n "/- repo:/,/^\$/p" said | sed "$renamed" >>framework/.pre-commit-config.yaml && says "then run: pre-commit install" said && (
		cd framework && git klineage hooks status >/dev/null && $(sed -n "s/^# then run: //p" ../said) >/dev/null && git add . &&
		git commit -q -m config >/dev/null 2>&1
	) && works framework
'

# the repository that the framework is told of, made of what it needs of this one
test_expect_success STAGES 'the pre-commit framework: from the repository of git-klineage' '
	git init -q --template= source && cp "$KLINEAGE_TOP"/.pre-commit-hooks.yaml source && git -C source add . &&
	git -C source commit -q -m hooks && rev=$(git -C source rev-parse HEAD) && repo byrepo &&
	cat >byrepo/.pre-commit-config.yaml <<-EOF && (
		repos:
		  - repo: $PWD/source
		    rev: $rev
		    hooks:
		      - id: klineage-gate
		      - id: klineage-note
		      - id: klineage-push
	EOF
		cd byrepo && pre-commit install -t pre-commit -t pre-merge-commit -t post-commit -t post-merge -t pre-push >/dev/null &&
		git klineage hooks status >/dev/null && git add . && git commit -q -m config >/dev/null 2>&1
	) && works byrepo
'

test_expect_success LEFTHOOK,OLDER 'lefthook: what it says to add' '
	repo lefthook && : >lefthook/lefthook.yml && (cd lefthook && exits 1 git klineage hooks install >../said) &&
	sed -n "/^pre-commit:/,/^\$/p" said >lefthook/lefthook.yml && says "then run: lefthook install" said && (
		cd lefthook && git klineage hooks status >/dev/null && lefthook install >/dev/null 2>&1 && git add . &&
		git commit -q -m config >/dev/null 2>&1
	) && works lefthook
'

test_done
