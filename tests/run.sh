#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/run.sh <build directory> - every test: the units (cmocka, as TAP), then the commands (sharness), by prove.
set -u
build=$1
here=$(cd "$(dirname "$0")" && pwd)
export KLINEAGE_BUILD="$build"
rc=0

for tool in nvcc clang; do
	command -v $tool >/dev/null || echo "# no $tool here: what needs it is skipped"
done
unshare -Ur true 2>/dev/null || echo "# no user namespaces here: the bubblewrap jail is skipped"

units=
for t in "$here"/unit/test_*.c; do
	units="$units $build/tests/$(basename "$t" .c)"
done
commands=$(ls "$here"/t/[0-9]*.sh 2>/dev/null)
cat >"$build/tests/run-one" <<'X'
#!/bin/sh
case $1 in
*.sh) cd "$(dirname "$1")" && exec sh "$1" ;;
*) CMOCKA_MESSAGE_OUTPUT=TAP exec "$1" ;;
esac
X
chmod +x "$build/tests/run-one"
# shellcheck disable=SC2086 # lists of words
prove --timer -j "${KLINEAGE_JOBS:-2}" --exec "$build/tests/run-one" $units $commands || rc=1
exit $rc
