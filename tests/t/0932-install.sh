#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='make install, installcheck, uninstall, dist'
. ./lib.sh

case $KLINEAGE_BUILD in
"$KLINEAGE_TOP"/build) test_set_prereq PLAIN ;;
*) say '# not the plain build: nothing is installed' ;;
esac
command -v asciidoctor >/dev/null && test_set_prereq ASCIIDOCTOR
git -C "$KLINEAGE_TOP" rev-parse -q --verify HEAD >/dev/null 2>&1 && test_set_prereq CHECKOUT

there="$PWD/there"
make="make -s -C $KLINEAGE_TOP PREFIX=/opt/klineage"

test_expect_success PLAIN,ASCIIDOCTOR 'installed below DESTDIR, and nothing elsewhere' '
	$make install DESTDIR="$there" && (cd there && find . -type f | grep -v "^./opt/klineage/") >stray; test_must_fail test -s stray &&
	test -x there/opt/klineage/bin/git-klineage && test -x there/opt/klineage/libexec/git-klineage/klineage-worker &&
	test -s there/opt/klineage/share/man/man1/git-klineage-hooks.1 && test -s there/opt/klineage/share/doc/git-klineage/formats.md &&
	test_must_fail test -e there/opt/klineage/share/git-klineage/templates/debian
'

test_expect_success PLAIN,ASCIIDOCTOR 'what is installed works, wherever it was moved to' '
	mv there moved && sh "$KLINEAGE_TOP/tests/installcheck.sh" moved/opt/klineage/bin moved/opt/klineage/share/man >log &&
	! grep "^not ok" log && test "$(grep -c "^ok" log)" -ge 7 && mv moved there
'

test_expect_success PLAIN,ASCIIDOCTOR 'and fails the check when a part is missing' '
	cp -R there broken && rm -r broken/opt/klineage/libexec &&
	test_must_fail sh "$KLINEAGE_TOP/tests/installcheck.sh" broken/opt/klineage/bin broken/opt/klineage/share/man >log &&
	says "not ok - the gate judges" log
'

test_expect_success PLAIN,ASCIIDOCTOR 'the place of each kind of file can be said' '
	$make install DESTDIR="$PWD/parts" bindir=/b mandir=/m libexecdir=/l datadir=/d bashcompdir=/c && test -x parts/b/git-klineage &&
	test -s parts/m/man1/git-klineage.1 && test -x parts/l/git-klineage/klineage-worker && test -s parts/c/git-klineage
'

test_expect_success PLAIN,ASCIIDOCTOR 'uninstall leaves nothing' '
	: >there/opt/klineage/share/man/man1/git-else.1 && $make uninstall DESTDIR="$there" &&
	find there -type f >left && echo there/opt/klineage/share/man/man1/git-else.1 >want && test_cmp want left &&
	! find there -mindepth 4 -name "*klineage*" | grep . && rm there/opt/klineage/share/man/man1/git-else.1 &&
	$make install DESTDIR="$there" && $make uninstall DESTDIR="$there" && (cd there/opt/klineage && find . ! -name .) | sort >left &&
	printf "%s\n" ./bin ./share ./share/man >want && test_cmp want left
'

test_expect_success CHECKOUT,ASCIIDOCTOR 'a source package: the same bytes twice, the manual built' '
	git clone -q "$KLINEAGE_TOP" source && (
		cd source && make -s dist && cp build/git-klineage-*.tar.gz ../one.tar.gz && sleep 1 && make -s dist
	) && cmp one.tar.gz source/build/git-klineage-*.tar.gz && tar tzf one.tar.gz >list && tar xzf one.tar.gz &&
	grep "docs/man/built/git-klineage-gate.1$" list && ! grep -E "/\.git/|\.o$" list
'

test_expect_success CHECKOUT,ASCIIDOCTOR 'whose manual needs no asciidoctor, and is that of the sources' '
	(cd git-klineage-* && make -s man ASCIIDOCTOR=) && test "$(ls source/build/man | wc -l)" -ge 10 &&
	for f in source/build/man/*; do
		cmp $f git-klineage-*/build/man/$(basename $f) || return 1
	done
'

test_done
