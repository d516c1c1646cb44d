#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the keys of models stay with git-klineage: no program that it runs inherits them'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
top=$PWD
seen=$top/seen
mkdir bin

# spy <file> [<command>]: a program that adds its environment to $seen, and then is the command
spy () {
	printf '#!/bin/sh\n{ echo "== %s"; env; } >>"%s"\n%s\n' "${1##*/}" "$seen" "${2:-exit 0}" >"$1" && chmod +x "$1"
}
keyless () { test -s "$seen" && ! grep sk-secret "$seen" >/dev/null && : >"$seen"; }

ANTHROPIC_API_KEY=sk-secret-1 OPENAI_API_KEY=sk-secret-2 KLINEAGE_CHAT_KEY=sk-secret-3
export ANTHROPIC_API_KEY OPENAI_API_KEY KLINEAGE_CHAT_KEY

test_expect_success 'git, and the hooks that it runs' '
	spy bin/git "exec $(command -v git) \"\$@\"" && git init -q r && spy r/.git/hooks/reference-transaction &&
	(cd r && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . && cp "$cheats"/accepted/plain.c mm.c && git add . && git commit -q -m plain) &&
	rm -f "$seen" && (cd r && PATH=$top/bin:$PATH "$KLINEAGE_BUILD/git-klineage" gate --no-profile >../out) && says "mm: pass" out &&
	says "== git" seen && says "== reference-transaction" seen && keyless
'

test_expect_success 'what signs and what checks signatures' '
	spy keygen "exit 1" && git -C r config gpg.ssh.program "$top/keygen" && git -C r config user.signingKey "$top/key" &&
	(cd r && exits 125 git klineage gate --no-profile --fresh --sign 2>../err) && says "== keygen" seen && keyless
'

test_expect_success 'helpers of git for credentials, which are asked for a key' '
	spy bin/git-credential-spy && git -C r config credential.helper spy && git -C r config klineage.chat.provider openai &&
	git -C r config klineage.chat.url https://127.0.0.1:1/v1 && git -C r config klineage.chat.model none && git -C r config klineage.none.price free && git -C r config klineage.chat.patience 0 &&
	(cd r && unset KLINEAGE_CHAT_KEY OPENAI_API_KEY && PATH=$top/bin:$PATH && exits 128 "$KLINEAGE_BUILD/git-klineage" deopt --rewriter chat 2>../err) &&
	says "Failed to connect" err && says "== git-credential-spy" seen && keyless && (cd r && git klineage deopt --abort)
'

test_expect_success 'ssh, which carries jobs to another machine' '
	spy bin/ssh "exit 255" && (cd r && PATH=$top/bin:$PATH && exits 125 "$KLINEAGE_BUILD/git-klineage" gate --no-profile --fresh --runner ssh:gpu1 2>../err) &&
	says "== ssh" seen && keyless
'

test_done
