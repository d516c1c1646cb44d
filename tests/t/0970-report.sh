#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage report: one page that stands alone, also of somebody else s lineage'
. ./lib.sh

lineage=$KLINEAGE_TOP/skills/lineages/cuda-topk
for b in chromium-headless-shell chromium chromium-browser google-chrome; do
	command -v $b >/dev/null && browser=$b && test_set_prereq BROWSER && break
done
${browser+:} say '# no browser here: the page is not looked at in one (make deps-dev brings one)'

# look <file> <width> <option...>: at it with a browser that reaches no network; its console in err, its requests in net
look () {
	file=$1 width=$2
	shift 2
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --no-first-run \
		--disable-background-networking --disable-component-update --host-resolver-rules='MAP * ~NOTFOUND' \
		--hide-scrollbars --virtual-time-budget=2000 --enable-logging=stderr --log-net-log="$PWD/net" \
		--window-size="$width,1600" "$@" "file://$PWD/$file" 2>err
}
dom () { look "$1" 900 --dump-dom; }
# some browsers ask for updates of themselves; the page asked for the rest
asked () { grep '"initiator"' net | grep -v '"initiator":"not an origin"' | grep -o '"url":"[^"]*"'; }

test_expect_success 'a lineage, and a page of it' '
	git init -q repo && (cd repo && git klineage import "$lineage" >/dev/null && git klineage report cuda-topk -o ../page.html --figures ../figures) &&
	grep -c "<tr><td><a [^>]*>K_" page.html >rows && test "$(cat rows)" = 12 && says "radix-select" page.html &&
	says "The expert is at 2.62 of the speed of cub.topk" page.html && says "4 rejected" page.html &&
	test "$(grep -c "<tr id=.*/rejected-" page.html)" = 4 &&
	test "$(grep -c "<summary>the edit" page.html)" = 11 && test "$(grep -c "<summary>gate evidence" page.html)" = 12 &&
	says "No money was spent" page.html
'

test_expect_success 'the figures of the table are those of log' '
	(cd repo && git klineage log --json) >log && perl -MJSON::PP -e "
		my \$j = decode_json(join q(), <STDIN>);
		for (@{\$j->{steps}}) { next unless \$_->{previous}; my \$x = \$_->{previous}{ratio_ppm} / 1e6;
			printf qq(%.*f\n), \$x >= 100 ? 0 : \$x >= 10 ? 1 : 2, \$x }" <log >want &&
	sed -nE "/<tr><td><a [^>]*>K_[1-9]/s/.*<td class=\"n\">([0-9.]+)× <span class=\"soft\">[^<]*<\/span><\/td><td class=\"n\">[0-9.]+× .*/\1/p" page.html >have &&
	test "$(wc -l <have)" = 11 && test_cmp want have
'

test_expect_success 'nothing in it is fetched from anywhere, no script' '
	! grep -iE "<script|javascript:|<(img|link|iframe|object|embed)|@import|url\(|src=" page.html && ! grep -oE "href=.[^#]." page.html &&
	grep -oE "https?://[^\" ]*" page.html | sort -u >urls && echo "http://www.w3.org/2000/svg" >want && test_cmp want urls &&
	says "default-src '\''none'\''" page.html
'

test_expect_success 'the head tells what was measured; rejected steps tell the first wrong element and lead to their state' '
	for w in "topk, in topk.cu, launch.yaml" "NVIDIA H100 80GB HBM3" "nvcc 13.0.88" "cub.topk" "<dt>sizes</dt>" "<dt>types</dt>" "<dt>measured</dt><dd>2026-"; do
		says "$w" page.html || return 1
	done && test "$(grep -oE "<h4 id=.cuda-topk/sm_90-12b611a/K_[0-9]+" page.html | wc -l)" = 12 &&
	grep -E "<tr id=.*wanted [-0-9]" page.html && test "$(grep -oE "class=.reject. " page.html | wc -l)" = 8 &&
	grep -oE "href=.#[^\"]*" page.html | cut -c 8- | sort -u >links && grep -oE " id=.[^\"]*" page.html | cut -c 6- | sort -u >ids &&
	test "$(wc -l <links)" -ge 16 && test -z "$(comm -23 links ids)"
'

test_expect_success 'a commit that the remote has leads to its page at the forge' '
	git -C repo remote add origin https://me:secret@github.com/a/b.git &&
	(cd repo && git klineage report cuda-topk) >out && ! grep github out &&
	git -C repo update-ref refs/remotes/origin/x klineage/lineage/cuda-topk/sm_90-12b611a &&
	(cd repo && git klineage report cuda-topk) >out && ! grep secret out &&
	says "href=\"https://github.com/a/b/commit/$(git -C repo rev-parse klineage/lineage/cuda-topk/sm_90-12b611a)\"" out &&
	git -C repo update-ref -d refs/remotes/origin/x && git -C repo remote remove origin
'

test_expect_success 'the figures are files of their own' '
	ls figures >have && printf "%s\n" cuda-topk-sm_90-12b611a-share.svg cuda-topk-sm_90-12b611a-steps.svg cuda-topk-sm_90-12b611a-trace.svg >want && test_cmp want have &&
	for f in figures/*; do
		head -c 4 "$f" | grep "<svg" && tail -n 1 "$f" | grep "</svg>" && ! grep -i "<script" "$f" || return 1
	done && test "$(grep -c "<circle" figures/*trace.svg)" = 12
'

test_expect_success 'a program is told what was written' '
	(cd repo && git klineage report --json cuda-topk -o ../again.html --figures ../again) >json && test_cmp page.html again.html &&
	perl -MJSON::PP -e "
		my \$j = decode_json(join q(), <STDIN>);
		print map { qq(\$_\n) } @\$j{qw(schema workload page)}, (map { \$_->{ref} } @{\$j->{lineages}}), sort @{\$j->{figures}}" <json >have &&
	printf "%s\n" klineage.reported/1 cuda-topk ../again.html refs/heads/klineage/lineage/cuda-topk/sm_90-12b611a >want &&
	for f in again/*; do echo "../$f"; done >>want && test_cmp want have && test "$(wc -l <want)" = 7 &&
	for o in "" "-o -" "-o /dev/stdout" "--figures ../more"; do
		(cd repo && exits 129 git klineage report --json cuda-topk $o >../out 2>../err) && test_must_fail test -s out || return 1
	done && test ! -e more
'

test_expect_success 'to stdout, of one lineage by name; two of a workload on one page' '
	git -C repo branch klineage/lineage/cuda-topk/twin klineage/lineage/cuda-topk/sm_90-12b611a &&
	(cd repo && git klineage report cuda-topk/sm_90-12b611a) >out && test_cmp page.html out &&
	(cd repo && git klineage report cuda-topk) >two && test "$(grep -c "^<h2 " two)" = 2 &&
	test "$(grep -c "^<li><a href=.#cuda-topk/" two)" = 2 && test "$(grep -o "<polyline [^>]*class=.line2." two | wc -l)" = 2 &&
	(cd repo && git klineage report cuda-topk/twin cuda-topk/twin) >out && test "$(grep -c "^<h2 " out)" = 1 &&
	git -C repo branch -q -D klineage/lineage/cuda-topk/twin
'

test_expect_success 'what cannot be is said, and a page that was there stays' '
	echo old >kept && (cd repo && exits 128 git klineage report nothing -o ../kept 2>../err) && says "no lineage" err &&
	(cd repo && exits 129 git klineage report 2>../err) && (cd repo && exits 128 git klineage report sm_90-12b611a 2>../err) && says "cuda-topk/sm_90-12b611a" err &&
	(cd repo && exits 128 git klineage report cuda-topk -o ../no/such/page 2>../err) &&
	echo old >want && test_cmp want kept
'

# the contrast (WCAG) of every text on every ground, in each theme; a text or ground is a variable --t-... or --g-... of the style
cat >contrast.pl <<'X'
use strict; my $least = 99; my $pairs = 0; my $worst = "";
sub light { my @c = map { length $_[0] == 3 ? hex("$_$_") / 255 : hex($_) / 255 } length $_[0] == 3 ? split(//, $_[0]) : unpack "(A2)*", $_[0];
	my @l = map { $_ <= 0.03928 ? $_ / 12.92 : (($_ + 0.055) / 1.055) ** 2.4 } @c; return 0.2126 * $l[0] + 0.7152 * $l[1] + 0.0722 * $l[2] }
local $/; my ($style) = <STDIN> =~ m{<style>(.*?)</style>}s; my @themes = $style =~ /:root\{color-scheme:(?:light|dark);([^}]*)\}/g;
for my $theme (@themes) {
	my %t = $theme =~ /--(t-[a-z0-9]+|trace|other|third|reject):#([0-9a-f]+)/g; my %g = $theme =~ /--(g-[a-z0-9]+):#([0-9a-f]+)/g;
	for my $t (keys %t) { for my $g (keys %g) {
		my ($x, $y) = sort { $b <=> $a } light($t{$t}), light($g{$g}); my $r = ($x + 0.05) / ($y + 0.05); $pairs++;
		($least, $worst) = ($r, "$t on $g") if $r < $least && ($t =~ /^t-/ || $g eq "g-page");
	} }
}
# no other color may stand in the style
$style =~ s/:root\{[^}]*\}//g; my $other = () = $style =~ /#[0-9a-f]{3,8}\b/g;
printf "%d %d %d %d\n", scalar @themes, $pairs, $least * 100, $other; print STDERR "$worst\n";
X
test_expect_success 'every text can be read on every ground, light or dark' '
	perl contrast.pl <page.html >is && cat is && read themes pairs least other <is && test "$themes" = 2 && test "$pairs" -ge 160 &&
	test "$least" -ge 450 && test "$other" = 0
'

test_expect_success 'headings go down by one, figures and tables have names' '
	grep -oE "<h[1-6]" page.html | cut -c 3 | awk "NR == 1 && \$1 != 1 || \$1 > last + 1 { bad = 1 } { last = \$1 } END { exit bad }" &&
	test "$(grep -o "<svg " page.html | wc -l)" = "$(grep -oE "<svg [^>]*role=.img.[^>]*><title>[^<]" page.html | wc -l)" &&
	test "$(grep -o "class=.wide." page.html | wc -l)" = "$(grep -o "class=.wide. role=.region. tabindex=.0. aria-label=" page.html | wc -l)"
'

test_expect_success 'edits are side by side; lines of code have the state that brought them' '
	test "$(grep -oE "class=.(add|del)." page.html | wc -l)" -gt 200 &&
	(cd repo && git show klineage/lineage/cuda-topk/sm_90-12b611a:topk.cu | wc -l) >want &&
	awk "/<summary>topk.cu/, /<.table>/" page.html | grep -c "<tr class=" >have && test_cmp want have &&
	awk "/<summary>topk.cu/, /<.table>/" page.html | grep -E "K_[0-9]+</a> radix-select [0-9.]+×"
'

# somebody else s: text that wants to be more
test_expect_success 'hostile words stay words' '
	evil="</pre><script>document.title = \"owned\"</script><img src=http://evil.invalid/x>" &&
	(
		cd repo && ref=klineage/lineage/cuda-topk/sm_90-12b611a && git log -1 --format=%B $ref >../message &&
		EVIL=$evil perl -0pi -e "s/^.*?\n/\$ENV{EVIL}\n/; s/^Klineage-Mechanism: .*\$/Klineage-Mechanism: \$ENV{EVIL}/m" ../message &&
		git show $ref:topk.cu >../topk.cu && printf "%s\342\200\256\n" "$evil" >>../topk.cu && export GIT_INDEX_FILE=.git/evil && git read-tree $ref &&
		git update-index --cacheinfo 100644,$(git hash-object -w ../topk.cu),topk.cu &&
		git update-ref refs/heads/klineage/lineage/cuda-topk/evil $(git commit-tree -p $ref^ -F ../message $(git write-tree)) &&
		git klineage report cuda-topk/evil -o ../evil.html
	) &&
	test "$(grep -c "&lt;script&gt;document.title = &quot;owned&quot;" evil.html)" -ge 3 && grep "&lt;/pre&gt;&lt;script&gt;document" evil.html && ! grep -iE "<script|<img" evil.html &&
	git -C repo show klineage/lineage/cuda-topk/evil:topk.cu | grep "$(printf "\342\200\256")" && ! grep "$(printf "\342\200\256")" evil.html
'

test_expect_success BROWSER 'a browser reads the page as it is meant, and has nothing to complain of or to ask for' '
	dom page.html >dom && ! grep CONSOLE err && ! asked &&
	test "$(grep -o "<circle" dom | wc -l)" = 48 && says "<title>cuda-topk/sm_90-12b611a on NVIDIA H100 80GB HBM3</title>" dom &&
	test "$(grep -o "<details" dom | wc -l)" = "$(grep -o "<details" page.html | wc -l)" &&
	test "$(grep -o "<tr" dom | wc -l)" = "$(grep -o "<tr" page.html | wc -l)" &&
	dom evil.html >dom && ! grep CONSOLE err && ! asked && says "<title>cuda-topk/evil on NVIDIA" dom && ! grep -i "<script" dom
'

test_expect_success BROWSER 'what was not escaped would have been seen, and the policy of the page would have stopped it' '
	mark="<footer class=\"soft\">Written" && bad="<script>document.title = \"owned\"</script><img src=http://evil.invalid/x>" &&
	MARK=$mark BAD=$bad perl -pe "s/\Q\$ENV{MARK}/\$ENV{BAD}\$ENV{MARK}/" page.html >unescaped.html &&
	dom unescaped.html >dom && says "<title>cuda-topk/sm_90" dom && ! asked && test "$(grep -c "CONSOLE.*Content Security Policy" err)" = 2 &&
	grep -v "^<meta http-equiv" unescaped.html >open.html && dom open.html >dom &&
	says "<title>owned" dom && asked >urls && says http://evil.invalid/x urls
'

test_expect_success BROWSER 'and the figures, as files' '
	for f in figures/*.svg; do
		dom "$f" >dom && says "<svg" dom && ! grep -i parsererror dom && ! grep CONSOLE err && ! asked || return 1
	done
'

# a copy that measures itself, in a frame as no window gets narrow enough: width of the window, of the page; the least size that any text is shown at; figures to be seen
cat >measure.html <<'X'
<script>
onload = () => {
	const px = e => parseFloat(getComputedStyle(e).fontSize), all = q => [...document.querySelectorAll(q)];
	const shown = q => all(q).filter(e => e.checkVisibility());
	const svg = shown("svg"), least = Math.min(...all("body *:not(svg *)").map(px),
		...shown("svg text").map(e => px(e) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b)));
	const seen = svg.filter(e => { const r = e.getBoundingClientRect(); return r.width > 300 && r.height > 150 && r.top < 1600 });
	parent.postMessage([innerWidth, document.documentElement.scrollWidth, Math.round(least), seen.length].join(" "), "*");
};
</script>
X
test_expect_success BROWSER 'on a narrow screen and on a wide one nothing is cut off or too small to read' '
	grep -v "^<meta http-equiv" page.html | cat - measure.html >self.html &&
	for w in 400 1400; do
		echo "<script>onmessage = e => document.title = e.data</script><iframe src=self.html width=$w height=1600 frameborder=0></iframe>" \
			>frame.html && look frame.html 1500 --dump-dom >dom && grep -o "<title>[^<]*" dom | cut -c 8- >is && read inner page least seen <is &&
		test "$inner" = $w && test "$page" -le $w && test "$least" -ge 11 && test "$seen" -ge 2 || { cat is; return 1; }
	done
'

# pages <file>: how many it takes to print
pages () {
	look "$1" 900 --print-to-pdf="$PWD/print.pdf" >/dev/null && perl -ne 'while (/\/Count (\d+)/g) { $n = $1 if $1 > $n } END { print "$n\n" }' print.pdf
}
test_expect_success BROWSER 'sources and edits are printed only where the reader unfolded them' '
	sed "s/<details class=.source./& open/" page.html >unfolded.html && folded=$(pages page.html) && all=$(pages unfolded.html) &&
	echo "$folded pages, $all unfolded" && test "$folded" -gt 3 && test "$all" -gt $((2 * folded))
'

# the share of pixels that are not the page s ground, in per mille: unfiltered rows of a PNG with 3 or 4 bytes a pixel
cat >ink.pl <<'X'
use strict; use Compress::Zlib;
local $/; binmode STDIN; my $d = <STDIN>; my ($w, $h, $depth, $type, $z) = (0, 0, 0, 0, "");
for (my $i = 8; $i < length $d;) {
	my ($n, $t) = unpack "Na4", substr $d, $i, 8; my $c = substr $d, $i + 8, $n;
	($w, $h, $depth, $type) = unpack "NNCC", $c if $t eq "IHDR"; $z .= $c if $t eq "IDAT"; $i += 12 + $n;
}
my $bpp = $type == 6 ? 4 : 3; my $raw = uncompress($z); my $row = $w * $bpp; my @up = (0) x $row; my $ink = 0;
for my $y (0 .. $h - 1) {
	my ($f, @x) = unpack "C*", substr $raw, $y * ($row + 1), $row + 1;
	for my $i (0 .. $row - 1) {
		my ($a, $b, $c) = ($i >= $bpp ? $x[$i - $bpp] : 0, $up[$i], $i >= $bpp ? $up[$i - $bpp] : 0);
		my $p = $a + $b - $c; my ($pa, $pb, $pc) = (abs $p - $a, abs $p - $b, abs $p - $c);
		$x[$i] = ($x[$i] + ($f == 1 ? $a : $f == 2 ? $b : $f == 3 ? int(($a + $b) / 2) :
			$f == 4 ? ($pa <= $pb && $pa <= $pc ? $a : $pb <= $pc ? $b : $c) : 0)) & 255;
	}
	for (my $i = 0; $i < $row; $i += $bpp) { $ink++ if $x[$i] + $x[$i + 1] + $x[$i + 2] < 600 }
	@up = @x;
}
printf "%d\n", 1000 * $ink / ($w * $h);
X

test_expect_success BROWSER 'what it paints is neither empty nor a blot, figures alone, too' '
	trace=$(echo figures/*trace.svg) && steps=$(echo figures/*steps.svg) && echo "<!doctype html>" >blank.html &&
	for shot in "page.html 400" "page.html 1400" "$trace 900" "$steps 900"; do
		look ${shot% *} ${shot#* } --screenshot="$PWD/shot.png" >/dev/null && perl ink.pl <shot.png >ink && echo "$shot: $(cat ink)" &&
		test "$(cat ink)" -ge 3 && test "$(cat ink)" -le 300 || return 1
	done &&
	look blank.html 900 --screenshot="$PWD/shot.png" >/dev/null && perl ink.pl <shot.png >ink && test "$(cat ink)" = 0
'

test_expect_success 'a lineage of one state, far below the reference, is not at 0.00 of it' '
	git clone -q --mirror repo one && (
		cd one && git update-ref refs/heads/klineage/lineage/cuda-topk/one "$(git rev-list --reverse --first-parent klineage/lineage/cuda-topk/sm_90-12b611a | head -n 1)" &&
		git klineage report cuda-topk/one
	) >one.html && says "The expert is at less than 0.01 of the speed of cub.topk" one.html && says "0 steps, complete" one.html && ! grep -E "(x[12]?|y[12]?|points|d)=\"[^\"]*(nan|inf)" one.html
'

test_expect_success 'the same lineage gives the same page' '
	git init -q other && git -C other fetch -q ../repo "refs/heads/klineage/*:refs/heads/klineage/*" "refs/klineage/*:refs/klineage/*" "refs/notes/*:refs/notes/*" &&
	(cd other && TZ=Asia/Tokyo LC_ALL=C.UTF-8 git klineage report cuda-topk/sm_90-12b611a) >out && test_cmp page.html out
'

test_expect_success 'a pipe is written to, not replaced; a reader that goes ends it' '
	mkfifo fifo && { timeout 30 cat fifo >got & } && (cd repo && git klineage report cuda-topk/sm_90-12b611a -o ../fifo) && wait && test -p fifo &&
	test_cmp page.html got && (cd repo && git klineage report cuda-topk/sm_90-12b611a -o /dev/stdout) >got && test_cmp page.html got &&
	{ (cd repo && git klineage report cuda-topk; echo $? >../rc) 2>err | :; } && says 141 rc && ! test -s err
'

test_done
