#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/demo.sh <build directory> - the main job on the shipped top-k kernel, in a scratch repository.
set -eu
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
PATH=$build:$PATH
export PATH
dir=$(mktemp -d "${TMPDIR:-/tmp}/klineage-demo-XXXXXX")/c-topk

# commits need somebody; the demo does not touch anybody's config
if ! git var GIT_COMMITTER_IDENT >/dev/null 2>&1 || [ -z "$(git config user.email || :)" ]; then
	GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@klineage.invalid
	GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@klineage.invalid
	export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
fi

say () { printf '\n$ %s\n' "$*"; "$@"; }

say git klineage init --template c-topk "$dir"
cd "$dir"
git log --oneline --reverse
if ! grep -qw avx2 /proc/cpuinfo || ! grep -qw fma /proc/cpuinfo; then
	portable=$(sed -n 's/^portable: *//p' "$top/templates/workloads/c-topk/template.yaml")
	total=$(git rev-list --count HEAD)
	echo "This CPU has no AVX2: the first $portable of $total commits serve, the vector steps are left out."
	git reset -q --hard "HEAD~$((total - portable))"
fi

say git klineage deopt --progress
say git klineage log

lineage=$(git for-each-ref --format='%(refname:short)' refs/heads/klineage/lineage | head -n 1)
cat <<X

The repository: $dir
Three things to try there (put $top on your PATH first):
  git klineage show 3              one step: its diff, its evidence, what it gained
  git log -p --reverse $lineage
  git klineage gate HEAD~2         judge an older state again
X
