#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='in a terminal git klineage behaves as git s own commands: colours, pager, progress, width, help'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
esc=$(printf '\033')
unset NO_COLOR PAGER LESS COLUMNS
TERM=vt100
export TERM

# tty <command line>: run with a terminal for stdout and stderr
tty () {
	script -qec "$1" /dev/null </dev/null
}
tty 'test -t 1 && test -t 2' && test_set_prereq TTY

test_expect_success 'a repository with a lineage and a kernel' '
	git init -q repo && (
		cd repo && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-topk" >/dev/null &&
		cp "$cheats"/klineage.yaml "$cheats"/oracle.c . && cp "$cheats"/accepted/plain.c mm.c && git add . &&
		git commit -q -m first
	)
'

# --- colours -----------------------------------------------------------------------

colours () { grep -q "$esc\[" "$1"; }

test_expect_success 'none where nobody looks, unless asked for' '
	(
		cd repo && git klineage log >../plain && git -c color.ui=always klineage log >../ui &&
		git -c color.ui=always -c color.klineage=never klineage log >../never &&
		git -c color.klineage=always klineage log >../always && git klineage log --color >../option &&
		git -c color.ui=always klineage log --no-color >../no && git -c color.ui=always klineage log --color=auto >../auto &&
		NO_COLOR=1 git klineage log --color=always >../nocolor
	) &&
	for f in ui always option nocolor; do colours $f || return 1; done &&
	for f in plain never no auto; do ! colours $f || return 1; done &&
	sed "s/$esc\[[0-9;]*m//g" ui >stripped && test_cmp plain stripped
'

test_expect_success TTY 'in a terminal, unless it is a dumb one or NO_COLOR is set' '
	(
		cd repo && tty "git --no-pager klineage log" >../term && tty "TERM=dumb git --no-pager klineage log" >../dumb &&
		tty "TERM= git --no-pager klineage log" >../unset && tty "NO_COLOR=1 git --no-pager klineage log" >../nocolor &&
		tty "git --no-pager -c color.ui=false klineage log" >../off
	) &&
	colours term && for f in dumb unset nocolor off; do ! colours $f || return 1; done
'

test_expect_success 'the colour of a thing can be said in git s words' '
	(
		cd repo && git -c color.ui=always -c color.klineage.pass="bold blue" klineage gate --no-profile --no-note >../out &&
		exits 128 git -c color.ui=always -c color.klineage.pass=blueish klineage gate --no-profile --no-note 2>../err &&
		exits 128 git klineage log --color=soon 2>../when
	) && grep "mm: $esc\[1;34mpass$esc\[m" out && says "not a colour" err && says "expected always, never or auto" when
'

test_expect_success 'a diff, and a verdict that is none to be glad of' '
	(
		cd repo && git -c color.ui=always klineage show 1 >../show && cp "$cheats"/refused/zeros.c mm.c &&
		exits 1 git -c color.ui=always klineage gate --worktree --quick >../fail; git checkout -q mm.c
	) && grep "^$esc\[32m+" show && grep "^$esc\[31m-" show && grep "$esc\[1;31mfail" fail
'

test_expect_success '--json is plain whatever is asked' '
	(cd repo && git klineage log --json --color) >out && ! colours out
'

# --- pager ----------------------------------------------------------------------------

test_expect_success TTY 'what is to be read goes through the pager of git' '
	(cd repo && tty "GIT_PAGER=\"sed s/^/PAGED:/\" git klineage log" >../log && tty "GIT_PAGER=\"sed s/^/PAGED:/\" git klineage show 1" >../show &&
		tty "git -c core.pager=\"sed s/^/PAGED:/\" klineage log" >../config) &&
	for f in log show config; do grep "^PAGED:" $f && ! grep -v "^PAGED:" $f || return 1; done && colours log
'

test_expect_success TTY 'what is short, or not to be read, does not' '
	(cd repo && tty "GIT_PAGER=\"sed s/^/PAGED:/\" git klineage version" >../out && ! grep PAGED ../out &&
		tty "GIT_PAGER=\"sed s/^/PAGED:/\" git klineage log -h" >../out && ! grep PAGED ../out)
'

test_expect_success TTY 'switched off as ever, and for one verb' '
	(cd repo && tty "GIT_PAGER=cat git klineage log" >../cat && tty "GIT_PAGER=\"sed s/^/PAGED:/\" git --no-pager klineage log" >../no &&
		tty "GIT_PAGER=\"sed s/^/PAGED:/\" git -c klineage.pager.log=false klineage log" >../verb) &&
	for f in cat no verb; do says K_0 $f && ! grep PAGED $f || return 1; done
'

test_expect_success TTY 'not twice, where git has started one' '
	(cd repo && tty "GIT_PAGER=\"sed s/^/PAGED:/\" git -p klineage log" >../p &&
		tty "GIT_PAGER=\"sed s/^/PAGED:/\" git -c pager.klineage=true klineage log" >../all) &&
	for f in p all; do grep "^PAGED:" $f && ! grep PAGED:PAGED $f && colours $f || return 1; done
'

test_expect_success 'nor where nobody looks' '
	(cd repo && GIT_PAGER="sed s/^/PAGED:/" git klineage log >../out) && ! grep PAGED out
'

test_expect_success TTY 'a pager that is left early is no error' '
	(cd repo && tty "GIT_PAGER=true git klineage log && echo it-went-well" >../out) && says it-went-well out &&
	(cd repo && tty "GIT_PAGER=\"head -n 1\" git klineage log && echo it-went-well" >../out) && says it-went-well out &&
	test "$(wc -l <out)" = 2
'

test_expect_success TTY 'a pager that is not there is said, and the text is printed, as by git' '
	(cd repo && tty "GIT_PAGER=\"no-such-pager -x\" git klineage log" >../out) && says "cannot run the pager '\''no-such-pager -x'\''" out && says K_0 out &&
	(cd repo && tty "GIT_PAGER=\"nothing; cat\" git klineage log" >../out) && says K_0 out && ! says "cannot run" out
'

test_expect_success TTY 'the exit code is that of the verb, errors come after the pager' '
	(cd repo && tty "GIT_PAGER=\"cat >/dev/null; echo paged\" git klineage show 99; echo \$?" >../out) && says "has the states" out && says 128 out
'

# --- closed pipes ------------------------------------------------------------------------

test_expect_success 'a closed pipe is the end, without a word' '
	(cd repo && { git klineage log; echo $? >../code; } 2>../err | true) && test_must_fail test -s err &&
	{ test "$(cat code)" = 0 || test "$(cat code)" = 141; } &&
	(cd repo && { sleep 0.2; git klineage show 3; echo $? >../code; } 2>../err | true) && test_must_fail test -s err &&
	test "$(cat code)" = 141
'

# --- width ----------------------------------------------------------------------------------

test_expect_success '40 columns: bars as long as there is room for' '
	(cd repo && COLUMNS=40 git klineage log >../narrow && COLUMNS=200 git klineage log >../wide) &&
	sed -n "/logarithmic/,\$p" narrow | awk "length > 40 { exit 1 }" && grep -c "###" narrow &&
	test "$(grep -o "#*" wide | awk "{ print length }" | sort -n | tail -n 1)" = 48
'

# --- progress ---------------------------------------------------------------------------------

test_expect_success TTY 'nothing is shown of what is quick' '
	(cd repo && git klineage gate --no-profile --no-note >/dev/null && tty "git klineage gate --no-profile --no-note 2>&1 >/dev/null" >../out) &&
	test_must_fail test -s out
'

test_expect_success TTY 'what takes longer than GIT_PROGRESS_DELAY gets a line, which goes' '
	(cd repo && tty "GIT_PROGRESS_DELAY=0 git klineage gate --fresh --no-profile --no-note 2>&1 >/dev/null" >../out) &&
	says "gate mm" out && grep "$esc\[K\$" out
'

test_expect_success TTY 'also if it says nothing more until then' '
	git clone -q repo slow && (cd slow && sed -i "s/float sum = 0;/volatile float sum = 0;/; s/^	for (int64_t i = 0/	for (volatile int again = 0; again < 40; again++)\n&/" mm.c && git commit -q -a -m slow &&
	from=$(date +%s%N) && tty "GIT_PROGRESS_DELAY=1 git klineage gate --fresh --no-note 2>&1 >/dev/null" >../out && took=$((($(date +%s%N) - from) / 1000000)) && echo "$took ms" && test $took -gt 1200) && says "gate mm" out
'

test_expect_success TTY 'not on a dumb terminal, not where asked to be quiet, not in a pipe' '
	(
		cd repo && tty "TERM=dumb GIT_PROGRESS_DELAY=0 git klineage gate --fresh --no-profile --no-note 2>&1 >/dev/null" >../dumb &&
		tty "GIT_PROGRESS_DELAY=0 git klineage gate -q --fresh --no-profile --no-note 2>&1 >/dev/null" >../quiet &&
		GIT_PROGRESS_DELAY=0 git klineage gate --fresh --no-profile --no-note 2>../pipe >/dev/null
	) && for f in dumb quiet pipe; do test_must_fail test -s $f || return 1; done
'

# --- help ---------------------------------------------------------------------------------------

test_expect_success 'every verb answers -h on stdout with 0, anywhere, and refuses what it does not know with 129' '
	for v in $(git klineage --git-completion-helper); do
		(cd / && exits 0 git klineage $v -h) >out 2>err && grep "^usage: git klineage $v" out && test_must_fail test -s err &&
		(cd repo && exits 129 git klineage $v --no-such-option) >out 2>err && says "usage: git klineage $v" err &&
		test_must_fail test -s out || { echo "verb: $v" >&2; return 1; }
	done
'

test_expect_success 'git knows of it' '
	git --list-cmds=others | grep -x klineage && git help -a 2>/dev/null | grep klineage
'

# --- a slip of the finger ------------------------------------------------------------

test_expect_success 'a verb or an option that is nearly one: which it may be; else nothing' '
	exits 129 git klineage gat 2>err && says "hint: did you mean '\''gate'\''?" err && exits 129 git klineage help logg 2>err && says "did you mean '\''log'\''" err &&
	exits 129 git klineage nonsense 2>err && ! says "did you mean" err && says "lists the verbs" err &&
	(cd repo && exits 129 git klineage log --no-bar-s 2>../err) && says "unknown option '\''--no-bar-s'\''; did you mean '\''--no-bars'\''?" err &&
	(cd repo && exits 129 git klineage log --nonsense 2>../err) && ! says "did you mean" err
'

test_done
