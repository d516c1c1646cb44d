#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/style.sh - layers, libraries in their folders, forbidden calls, line lengths, shell scripts.
cd "$(dirname "$0")/.." || exit 1
rc=0

bad () {
	echo "$1" >&2
	rc=1
}

# may <layer> <layers it may include besides itself>
may () {
	layer=$1
	shift
	[ -d "src/$layer" ] || return
	allow=$(echo "$layer $*" | tr ' ' '|')
	grep -rnE '^#[[:space:]]*include "[a-z]+/' "src/$layer" --include='*.[ch]' |
		grep -vE "\"($allow)/" && bad "^ src/$layer may include only: $layer $*"
	:
}

# only <header regex> <file regex>
only () {
	grep -rnE "^#[[:space:]]*include <($1)" src --include='*.[ch]' |
		grep -vE "^src/($2)" && bad "^ <$1> belongs to src/$2 alone"
	:
}

may base
may text base
may repo text base
may plan text base
may gate plan repo text base
may chat gate plan repo text base
may rewrite chat gate plan repo text base
may lineage rewrite chat gate plan repo text base
may skill lineage rewrite chat gate plan repo text base
may cmd skill lineage rewrite chat gate plan repo text base
may worker plan base text
grep -rnE '^#include "text/' src/worker | grep -v '"text/json.h"' &&
	bad "^ src/worker may use text's JSON alone"
only 'git2' 'repo/'
only 'yaml\.h|openssl/' 'text/'
only 'jansson' 'text/json\.h'
only 'ffi\.h' 'worker/'
only 'curl/' 'chat/'
only 'seccomp\.h|libelf|gelf' 'gate/'
only 'oneapi|cblas' 'worker/'

# recorded data keep the bytes that were asked about
git ls-files 'src/*.c' 'src/*.h' 'tests/*.c' ':!tests/data' | while read -r f; do
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier' || echo "$f: no SPDX line"
done | grep . && bad "^ SPDX line missing"
git grep -nwE 'strcpy|strcat|strncpy|sprintf|vsprintf|gets|strtok|tmpnam|mktemp|gmtime|localtime|ctime|alloca|system' -- 'src/*.c' |
	grep -vE '^\S+:\s*(/\*|\*)|"[^"]*(system|strcpy|strcat|strncpy|sprintf|alloca|gmtime|strtok)[^"]*"|(->|\.)system\>|^[^:]*:[0-9]*:[[:space:]]*\*|/\*.*\*/' &&
	bad "^ a call that is not allowed here"
git ls-files 'src/*.c' 'src/*.h' | xargs awk '
	{ line = $0; gsub(/\t/, "        ", line) }
	length(line) > 110 { printf "%s:%d: %d columns\n", FILENAME, FNR, length(line); n++ }
	END { exit n > 0 }' || bad "^ longer than 110 columns"
git grep -nE '^[[:space:]]*//' -- 'src/*.c' 'src/*.h' && bad "^ C comments are /* */"
git grep -nE '[[:space:]]+$' -- 'src/*.c' 'src/*.h' 'Makefile' 'tests/*.sh' && bad "^ trailing white space"
if command -v shellcheck >/dev/null; then
	git ls-files '*.sh' git-klineage .ci/run hooks | xargs -r shellcheck -e SC1091,SC2034,SC2016 -s sh || rc=1
else
	echo "style: no shellcheck here, scripts are not checked" >&2
fi
exit $rc
