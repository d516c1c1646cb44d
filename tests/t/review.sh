# SPDX-License-Identifier: Apache-2.0
# review.sh - shared by the tests of review: gate events as another clone would note them, cards, and a pull request with
# many kinds of changes (docs/review.md shows its review). Events are written directly in the form of docs/formats.md, so
# that times and ids are the same in every run.
# shellcheck disable=SC2154

# the present version of the gate's rules
policy=$(sed -n 's/^#define KL_GATE_POLICY //p' "$KLINEAGE_TOP/src/event/event.h")

# event <commit> <time> <JSON members>: print an event on the kernel mm of a commit, as one line
event () {
	REV=$1 POLICY=$policy perl -MJSON::PP -MDigest::SHA=sha256_hex -e '
		sub digest {
			my $s = "";
			for my $path (sort @_) {
				my $data = `git cat-file blob $ENV{REV}:$path`;
				$s .= join("\0", "100644", $path, length $data) . "\0" . $data;
			}
			return sha256_hex($s);
		}
		my %e = (v => 1, kind => "gate", time => $ARGV[0], workload => "mm", policy => $ENV{POLICY} + 0, tier => "host-sandboxed",
			surface => digest("mm.c"), contract => digest("klineage.yaml", "oracle.c"), verdict => "pass",
			class => undef, by => "A U Thor <author\@example.invalid>", platform => { id => "cpu/x86-64-v3",
			device => "a processor", compiler => "gcc 12.2.0", flags => ["-O2"] }, features => []);
		my $more = decode_json($ARGV[1]);
		@e{keys %$more} = values %$more;
		my $json = JSON::PP->new->canonical->ascii;
		$e{id} = sha256_hex($json->encode(\%e));
		($e{commit}, $e{tree}) = split /\s/, `git rev-parse $ENV{REV} $ENV{REV}^{tree}`;
		print $json->encode(\%e), "\n"' "$2" "$3"
}

# note <commit> <file>: append the lines of the file to the note of the commit, by plain git
note () {
	git notes --ref=klineage/gate show "$1" 2>/dev/null | cat - "$2" >lines.tmp
	git notes --ref=klineage/gate add -f -F lines.tmp "$1" 2>/dev/null
	rm lines.tmp
}

# surface <commit>: print the surface digest of the kernel in a commit
surface () { event "$1" now '{}' | member surface; }

# member <key>: print the value of a member of the JSON line on stdin
member () { perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); print $j->{$ARGV[0]} // "", "\n"' "$1"; }

# against <surface> <ratio> <lo> <hi> <speed> <features>: print the members of an event that was compared with a parent; in ppm
against () {
	printf '{"features":[%s],"profile":{"ns":1000,"aa_ppm":2000,"vs":[{"what":"parent","surface":"%s","ratio_ppm":%s,"lo_ppm":%s,"hi_ppm":%s,"verdict":"%s"}]}}' \
		"$6" "$1" "$2" "$3" "$4" "$5"
}

# store <directory> <event file>: copy the event into a library directory and print its id
store () {
	perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); delete @$j{qw(commit tree)};
		my $dir = "$ARGV[0]/evidence/" . substr($j->{id}, 0, 2);
		system("mkdir", "-p", $dir); open my $f, ">", "$dir/$j->{id}.json";
		print $f JSON::PP->new->canonical->ascii->encode($j), "\n"; print $j->{id}, "\n"' "$1" <"$2"
}

# card <id> <sed script>: print an admitted card of mechanism tiling, learned from commits $before and $after with event
# $learned, tried with event $tried; the script edits it
card () {
	sed "$2" <<-EOT
		schema: 1
		id: $1
		status: admitted
		intent: keep a tile of both inputs in cache
		mechanism: tiling
		anchor:
		  construct: three nested loops
		  acts_on: the loop over k
		carriers:
		  - language: c
		    form: pseudocode
		    of: $learned
		    text: for each tile, for each k
		pre:
		  sound:
		    - id: align
		      text: every row of A begins at a vector
		      test: "K % 32 == 0 && K >= 64"
		      state: witnessed
		      by: $witness
		      class: fault
		    - id: small
		      text: a tile fits the cache
		      test: null
		      state: assumed
		  useful: []
		effect:
		  kind: win
		  provides: ["trait:tiled"]
		  rows:
		    - case: gemm
		      dims: {K: 112, M: 96, N: 80}
		      dtype: f32
		      language: c
		      platform: cpu/x86-64-v3
		      ratio: 2.5
		      lo: 2.4
		      hi: 2.6
		      by: trial
		      event: $tried
		evidence:
		  - lineage: mm/v3-1
		    step: 1
		    before: $before
		    after: $after
		    rederived: null
		    derivation: inverse
		    origin: induced
		    language: c
		    platform: cpu/x86-64-v3
		    event: $learned
		risk:
		  - class: fault
		    violates: align
		    text: a row that begins between vectors is read beyond its end
		    events: [$witness]
		scope:
		  cases: [gemm]
		  languages: [c]
		  platforms:
		    needs: [avx2]
		  prior:
		    requires: []
		    provides: ["trait:tiled"]
		    conflicts: []
		ver:
		  - trial: 1
		    level: other-workload
		    workload: other
		    case: gemm
		    dims: {K: 112, M: 96, N: 80}
		    dtype: f32
		    language: c
		    platform: cpu/x86-64-v3
		    state: 1111111111111111111111111111111111111111
		    result: pass
		    ratio: 2.5
		    lo: 2.4
		    hi: 2.6
		    event: $tried
		    how: mechanical
		    isolated: true
	EOT
}

# base <repository>: create a repository whose main has a judged kernel and, in skills/, a library of one card; stay in it
base () {
	git init -q "$1" && cd "$1" || return 1
	cp "$KLINEAGE_TOP"/tests/cheats/c/klineage.yaml "$KLINEAGE_TOP"/tests/cheats/c/oracle.c .
	cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/plain.c mm.c
	git add . && git commit -q -m 'mm: plain' && before=$(git rev-parse HEAD) &&
		event HEAD 2026-01-01T00:00:00Z '{"features":["loop.depth.3"]}' >../event && note HEAD ../event || return 1
	cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/packed-scratch.c mm.c
	git commit -q -a -m 'mm: pack' && after=$(git rev-parse HEAD) || return 1
	event HEAD 2026-01-01T00:01:00Z "$(against "$(surface "$before")" 2000000 1950000 2050000 fast '"loop.depth.3","vec.256"')" >../event
	note HEAD ../event && learned=$(store skills ../event) || return 1
	event HEAD 2026-01-01T00:02:00Z "$(against "$(surface "$before")" 2500000 2400000 2600000 fast '"vec.256"')" >../event
	tried=$(store skills ../event)
	event "$before" 2026-01-01T00:03:00Z '{"verdict":"fail","class":"fault"}' >../event
	witness=$(store skills ../event)
	mkdir -p skills/cards && card tile '' >skills/cards/tile.yaml && git klineage skills lint --fix skills/cards >/dev/null &&
		git klineage skills lint skills/cards >/dev/null && git add . && git commit -q -m 'skills: tile'
}

# pull_request <repository>: base, and a branch `topic` with two kernels, a contract with weaker rules, a card whose meaning
# changed in a few words, and a new card with its evidence
pull_request () {
	base "$1" && git checkout -q -b topic || return 1
	cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/kahan.c mm.c && git commit -q -a -m 'mm: sum exactly' || return 1
	event HEAD 2026-01-02T00:00:00Z "$(against "$(surface main)" 1300000 1280000 1320000 fast '"avx2.fma","vec.256"')" >../event
	note HEAD ../event
	sed 's/max: 4/max: 40/; /M: 33/d' klineage.yaml >new && mv new klineage.yaml && git commit -q -a -m 'mm: faster tests' || return 1
	cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/fast-math.c mm.c && git commit -q -a -m 'mm: faster' || return 1
	event HEAD 2026-01-02T00:01:00Z "$(against "$(surface HEAD^)" 1100000 1090000 1110000 fast '"avx2.fma","vec.256"')" >../event
	note HEAD ../event
	sed 's/K % 32 == 0 && K >= 64/K % 16 == 0/; s/ratio: 2.5/ratio: 3.5/; s/cases: \[gemm\]/cases: [conv2d, gemm]/
		s/for each tile, for each k/for each tile/; s/needs: \[avx2\]/needs: []/; /^risk:/,/events:/d' skills/cards/tile.yaml |
		sed 's/^scope:/risk: []\nscope:/' >new && mv new skills/cards/tile.yaml
	event HEAD 2026-01-02T00:02:00Z "$(against "$(surface HEAD^)" 1200000 1150000 1250000 fast '"avx2.fma"')" >../event
	learned=$(store skills ../event) && tried=$learned before=$(git rev-parse HEAD^) after=$(git rev-parse HEAD)
	card fuse-multiply-add 's/^status: .*/status: hypothesis/; s/^mechanism: .*/mechanism: fma/; s/ratio: 2.5/ratio: 1.2/; s/lo: 2.4/lo: 1.15/
		s/hi: 2.6/hi: 1.25/; s/by: trial/by: unverified/; /^ver:/,$d; /^risk:/,/events:/d; s/witnessed/assumed/; /by: [0-9a-f]\{64\}/d
		/class: fault/d; s/keep a tile of.*/multiply and add in one instruction, rounded once/' >new
	sed 's/^scope:/risk: []\nscope:/' new >skills/cards/fuse-multiply-add.yaml && echo 'ver: []' >>skills/cards/fuse-multiply-add.yaml && rm new
	git klineage skills lint --fix skills/cards >/dev/null
	git klineage skills lint skills/cards && git add . && git commit -q -m 'skills: wider, and a new one'
}
