#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage report --figures: files for papers, as SVG, PDF, TikZ and CSV'
. ./lib.sh

name=cuda-topk-sm_90-12b611a
if command -v rsvg-convert >/dev/null; then
	test_set_prereq RSVG
else
	say '# no rsvg-convert here: no PDF is written (make deps-dev brings it)'
fi

test_expect_success 'a lineage whose last step has a hostile name' '
	git init -q repo && (
		cd repo && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-topk" >/dev/null &&
		ref=klineage/lineage/cuda-topk/sm_90-12b611a && git log -1 --format=%B $ref >../message &&
		perl -pi -e "s/^Klineage-Mechanism: .*/Klineage-Mechanism: =\\\\input{x}\"<a>%/" ../message &&
		git update-ref refs/heads/klineage/lineage/cuda-topk/evil $(git commit-tree -p $ref^ -F ../message $ref^{tree})
	)
'

test_expect_success 'CSV has a row for each state, with the numbers of log' '
	(cd repo && git klineage report cuda-topk/sm_90-12b611a --figures ../csv --format csv && git klineage log --json cuda-topk/sm_90-12b611a) >log &&
	ls csv >have && echo $name-states.csv >want && test_cmp want have && test "$(wc -l <csv/$name-states.csv)" = 13 &&
	perl -MJSON::PP -e "
		my \$j = decode_json(join q(), <STDIN>);
		for (@{\$j->{steps}}) { my \$x = \$_->{previous}; printf qq(%s,%s\n), \$_->{commit}, \$x ? sprintf(q(%.6f), \$x->{ratio_ppm} / 1e6) : q() }" <log >want &&
	tail -n +2 csv/$name-states.csv | awk -F, "{ print \$2 \",\" \$6 }" >have && test_cmp want have
'

test_expect_success 'a field of CSV is never a formula' '
	(cd repo && git klineage report cuda-topk/evil --figures ../csv --format csv) >out && ! test -s out &&
	tail -n 1 csv/cuda-topk-evil-states.csv | grep -F "\"'\''=\\input{x}\"\"<a>%\""
'

test_expect_success 'TikZ has no command but those of figures' '
	(cd repo && git klineage report cuda-topk/evil --figures ../tikz --format tikz --column) && ls tikz >have &&
	printf "cuda-topk-evil-%s.tikz\n" share steps trace >want && test_cmp want have &&
	for f in tikz/*; do
		grep -oE "\\\\[a-zA-Z]+" "$f" | sort -u >commands &&
		printf "\\\\%s\n" begin char definecolor draw end mathsf node scriptsize sffamily times usepackage usetikzlibrary >known &&
		test -z "$(grep -v -F -x -f known commands)" && ! grep "\\\\input" "$f" || return 1
	done && says "{\$\\mathsf{K}_{11}\$" tikz/cuda-topk-evil-steps.tikz && says "\\char92{}input" tikz/cuda-topk-evil-steps.tikz
'

test_expect_success 'figures for a column have its width' '
	(cd repo && git klineage report cuda-topk/sm_90-12b611a --figures ../narrow --format svg --column) && says "viewBox=\"0 0 400 " narrow/$name-share.svg
'

test_expect_success RSVG 'PDF' '
	(cd repo && git klineage report cuda-topk/evil --figures ../pdf --format pdf) && ls pdf >have &&
	printf "cuda-topk-evil-%s.pdf\n" share steps trace >want && test_cmp want have &&
	for f in pdf/*; do head -c 5 "$f" | grep "^%PDF-" && test "$(wc -c <"$f")" -gt 3000 || return 1; done
'

test_expect_success 'without its program PDF is refused, and nothing is written' '
	mkdir bin && for c in git git-klineage; do ln -s "$(command -v $c)" bin/$c; done &&
	(cd repo && PATH=$PWD/../bin exits 125 git klineage report cuda-topk/evil --figures ../none --format pdf 2>../err) && says "librsvg2-bin" err &&
	test -z "$(ls none)"
'

test_expect_success 'bad options are named' '
	(cd repo && exits 129 git klineage report cuda-topk --format csv 2>../err) && says "needs --figures" err &&
	(cd repo && exits 129 git klineage report cuda-topk --format png --figures ../x 2>../err) && says "svg, pdf, tikz or csv" err && test ! -e x
'

test_done
