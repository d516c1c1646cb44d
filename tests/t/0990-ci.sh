#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='templates/ci: the steps of the recipes, run in simulated checkouts, with an API that is pretended'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
# shellcheck disable=SC2086,SC2034

ci=$KLINEAGE_TOP/templates/ci
top=$PWD
export KLINEAGE_CI="$ci/klineage-ci.sh" KLINEAGE_OUT=klineage-out

# --- what there is to pretend -----------------------------------------------------------

# a step of a recipe: step <recipe> <name>: its command, run as the forge's shell does
step () {
	perl -e 'my ($file, $name) = @ARGV; open my $h, "<", "$file" or die; local $/; my $t = <$h>;
		my ($s) = $t =~ /^ *- name: \Q$name\E\n((?:(?! *- )[ ]+.*\n)*)/m or die "no step $name\n";
		my ($in, $one, $many) = $s =~ /^( *)run: (?:\|\n((?:\1  .*\n|\n)+)|(.*)\n)/m or die "no run in $name\n";
		$one =~ s/^$in  //mg if defined $one; print $one // "$many\n"' "$ci/$1" "$2" >"$top/command" &&
	sh -e "$top/command"
}

# a job of the recipe of GitLab, line by line in one shell: gitlab <job> <key>
gitlab () {
	perl -e 'my ($file, $job, $key) = @ARGV; open my $h, "<", "$file" or die; local $/; my $t = <$h>;
		my ($s) = $t =~ /^\Q$job\E:\n((?:[ ]+.*\n)*)/m or die "no job $job\n";
		my ($l) = $s =~ /^  \Q$key\E:\n((?:    - .*\n)+)/m or die "no $key in $job\n";
		$l =~ s/^    - //mg; print $l' "$ci/gitlab-ci.yml" "$1" "$2" >"$top/command" &&
	sh -e "$top/command"
}

# curl, for the APIs of both forges: $API/comments.json is the list, $API/log what was asked
mkdir bin api && cat >bin/curl <<\E && chmod +x bin/curl
#!/usr/bin/perl
use JSON::PP;
my ($method, $url, $data, %seen) = ("GET");
my @args = @ARGV;
while (@args) {
	my $a = shift @args;
	if ($a eq "--request") { $method = shift @args }
	elsif ($a eq "--data-binary") { $data = shift @args; $data =~ s/^@// or die }
	elsif ($a =~ /^--(config|header|max-time)$/) { $seen{$1} = shift @args }
	elsif ($a =~ /^https:/) { $url = $a }
	elsif ($a !~ /^--(silent|show-error|fail)$/) { print STDERR "curl: what is $a?\n"; exit 2 }
}
my $config = do { local $/; <STDIN> };
open my $log, ">>", "$ENV{API}/log"; print $log "$method $url\n"; close $log;
my $token = $ENV{CI_API_V4_URL} ? "PRIVATE-TOKEN: t0ken" : "Authorization: Bearer t0ken";
if ($seen{config} ne "-" || $config ne "header = \"$token\"\n") { print STDERR "curl: (22) 401\n"; exit 22 }
sub slurp { open my $h, "<", $_[0] or do { print STDERR "curl: (22) 404\n"; exit 22 }; local $/; <$h> }
my $list = decode_json(slurp("$ENV{API}/comments.json"));
sub store { open my $h, ">", "$ENV{API}/comments.json"; print $h encode_json($list) }
if ($url =~ m,/pulls/(\d+)$, && $method eq "GET") { print slurp("$ENV{API}/pr-$1.json") }
elsif ($url =~ m,/merge_requests/(\d+)$, && $method eq "GET") { print slurp("$ENV{API}/mr-$1.json") }
elsif ($url =~ m,/collaborators/([A-Za-z0-9-]+)/permission$, && $method eq "GET") { print slurp("$ENV{API}/may-$1.json") }
elsif ($url =~ m,/members/all/(\d+)$, && $method eq "GET") { print slurp("$ENV{API}/member-$1.json") }
elsif ($url =~ m,/statuses/([0-9a-f]{40})$, && $method eq "POST") {
	open my $h, ">>", "$ENV{API}/statuses"; print $h "$1 ", decode_json(slurp($data))->{state}, "\n";
}
elsif ($url =~ m,/user$, && $method eq "GET") { print "{\"id\":42}" }
elsif ($url =~ m,/(?:comments|notes)\?per_page=100&page=(\d+)$, && $method eq "GET") {
	print encode_json([grep { $_ } @$list[100 * ($1 - 1) .. 100 * $1 - 1]]);
}
elsif ($url =~ m,/(?:issues|merge_requests)/7/(?:comments|notes)$, && $method eq "POST") {
	push @$list, { id => 1000 + @$list, body => decode_json(slurp($data))->{body},
		user => { login => "github-actions[bot]" }, author => { id => 42 } };
	store();
}
elsif ($method =~ /^(?:PATCH|PUT)$/ && $url =~ m,/(?:comments|notes)/(\d+)$,) {
	my $id = $1;
	my ($c) = grep { $_->{id} == $id } @$list or do { print STDERR "curl: (22) 404\n"; exit 22 };
	$c->{body} = decode_json(slurp($data))->{body};
	store();
}
else { print STDERR "curl: (22) 405 $method $url\n"; exit 22 }
E
PATH=$top/bin:$PATH API=$top/api
export PATH API GITHUB_REPOSITORY=them/kernels

fresh_api () {	# fresh_api [<comments as JSON>]
	: >"$API/log" && printf "%s\n" "${1:-[]}" >"$API/comments.json"
}
mine () {	# mine: bodies of the comments with the marker, and how many
	perl -MJSON::PP -0777 -e 'my @c = grep { $_->{body} =~ /^<!-- klineage-review -->/ } @{decode_json(<STDIN>)};
		print scalar(@c), "\n", map { "$_->{id}\n$_->{body}\n" } @c' <"$API/comments.json" >"$top/mine"
	head -n 1 "$top/mine"
}

# pull <head> <base> <base branch>: a pull request by "author" in a repository whose default branch is main
pull () {
	printf '{"head":{"sha":"%s"},"base":{"sha":"%s","ref":"%s","repo":{"default_branch":"main"}},"user":{"login":"author"}}\n' "$@"
}

# --- a repository, and two pull requests ---------------------------------------------------

test_expect_success 'a repository with notes, a pull request of its own people, one of a stranger' '
	(
	(make_repo r) && cd r && git klineage gate --no-profile && git checkout -q -b topic &&
	for i in 1 2; do echo "$i" >>words && git add words && git commit -q -m "words $i" || return 1; done &&
	kernel "	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;" "scale: simpler" &&
	git checkout -q -b stranger main && kernel "	for (int64_t i = 0; i + 1 < n; i++)
		y[i] = x[i] * 3.0f + 1.0f;" "scale: wrong" &&
	git checkout -q main && git init -q --bare ../up.git && git -C ../up.git config uploadpack.allowAnySHA1InWant true &&
	git push -q ../up.git main refs/notes/klineage/gate topic:refs/pull/7/head stranger:refs/pull/8/head &&
	for pr in 7 8; do
		head=$(git rev-parse $(test $pr = 7 && echo topic || echo stranger)) &&
		pull "$head" "$(git rev-parse main)" main >../api/pr-$pr.json || return 1
	done
	)
'
base=$(git -C r rev-parse main) own=$(git -C r rev-parse topic) theirs=$(git -C r rev-parse stranger)
export KLINEAGE_BASE="$base"

# checkout <directory> <ref>: as the forge does it: one commit, no branch, no notes
checkout () {
	git init -q "$1" && git -C "$1" remote add origin "file://$top/up.git" && git -C "$1" config klineage.profileMs 300 &&
	git -C "$1" fetch -q --no-tags --depth=1 origin "$2" && git -C "$1" checkout -q --detach FETCH_HEAD && cd "$1" || return
}

# --- GitHub --------------------------------------------------------------------------------

test_expect_success 'install: what is trusted is built, at the commit that was named' '
	git init -q tool && (cd tool && echo all >Makefile && git add . && git commit -q -m one && echo evil >Makefile && git commit -q -a -m two) &&
	mkdir -p fakes ws/r && printf "#!/bin/sh\necho make \"\$@\" >>\"$top/made\"; cp \"\$2/Makefile\" \"$top/made.what\"\n" >fakes/make &&
	printf "#!/bin/sh\n\"\$@\"\n" >fakes/sudo && chmod +x fakes/* &&
	for f in github-actions.yml github-report.yml; do
		rm -rf ws/klineage-source made && (
			cd ws/r && PATH=$top/fakes:$PATH KLINEAGE_SOURCE=$top/tool KLINEAGE_REV=$(git -C "$top/tool" rev-parse HEAD^) step $f install
		) && test "$(cat made.what)" = all && says "deps all" made && says "install" made || return 1
	done
'

test_expect_success 'gate: a shallow clone gets what it needs, the kernel is judged against the base, verdicts are handed over' '
	(
	KLINEAGE_HEAD=$own && export KLINEAGE_HEAD KLINEAGE_PR=7 && checkout g1 refs/pull/7/head &&
	test "$(git rev-list --count HEAD)" = 1 &&
	step github-actions.yml prepare && test "$(git merge-base $base $own)" = $base &&
	git notes --ref=klineage/gate show $base >/dev/null &&
	step github-actions.yml gate >out && says "scale: pass" out && ! says "words" out &&
	step github-actions.yml review && test "$(cat klineage-out/number)" = 7 && test -s klineage-out/comment.md &&
	git bundle verify -q klineage-out/notes.bundle && git -C ../up.git notes --ref=klineage/gate list >../before &&
	test "$(wc -l <../before)" = 1
	)
'

test_expect_success 'report: the notes are pushed, one comment is posted, and changed the next time' '
	(
	fresh_api "[{\"id\":1,\"body\":\"hello\",\"user\":{\"login\":\"somebody\"}},
		{\"id\":2,\"body\":\"<!-- klineage-review -->\\nnot ours\",\"user\":{\"login\":\"somebody\"}}]" &&
	KLINEAGE_HEAD=$own && unset KLINEAGE_BASE && export KLINEAGE_HEAD && checkout g2 refs/heads/main && cp -R ../g1/klineage-out . &&
	export KLINEAGE_TOKEN=t0ken KLINEAGE_ANSWERS=advise GITHUB_ENV="$PWD/env" &&
	step github-report.yml "find the pull request" && says "KLINEAGE_PR=7" env && says "KLINEAGE_BASE=$base" env &&
	while read -r line; do export "${line?}"; done <env &&
	step github-report.yml prepare && step github-report.yml "push the verdicts" &&
	git -C ../up.git notes --ref=klineage/gate show $own | grep "\"verdict\":\"pass\"" &&
	git -C ../up.git notes --ref=klineage/gate show $base >/dev/null &&
	step github-report.yml review && step github-report.yml comment &&
	test "$(mine)" = 2 && says 1002 ../mine && says "scale" ../mine && says "not ours" ../mine &&
	echo "one more line" >>klineage-out/comment.md && step github-report.yml comment &&
	test "$(mine)" = 2 && says "one more line" ../mine && says "not ours" ../mine && says "PATCH https://api.github.com/repos/them/kernels/issues/comments/1002" ../api/log &&
	! grep t0ken ../api/log
	)
'

test_expect_success 'a stranger: a wrong kernel fails the job; its verdicts are not pushed, and count for nothing' '
	(
	fresh_api && git -C up.git rev-parse refs/notes/klineage/gate >notes.before &&
	KLINEAGE_HEAD=$theirs && export KLINEAGE_HEAD KLINEAGE_PR=8 && checkout s1 refs/pull/8/head &&
	step github-actions.yml prepare && exits 1 step github-actions.yml gate >out && says "scale: fail wrong-edge" out &&
	step github-actions.yml review && says "fail" klineage-out/comment.md && git bundle verify -q klineage-out/notes.bundle &&
	cd .. && checkout s2 refs/heads/main && cp -R ../s1/klineage-out . &&
	export KLINEAGE_TOKEN=t0ken KLINEAGE_ANSWERS=advise KLINEAGE_MODE=compile GITHUB_ENV="$PWD/env" &&
	step github-report.yml "find the pull request" && step github-report.yml prepare && step github-report.yml "read the verdicts" &&
	git notes --ref=klineage/gate show $theirs >/dev/null &&
	step github-report.yml review && says "scale" klineage-out/comment.md &&
	git -C ../up.git rev-parse refs/notes/klineage/gate >../notes.after && test_cmp ../notes.before ../notes.after
	)
'

test_expect_success 'what the first job hands over is looked up, never believed' '
	(
	fresh_api && cd s2 && export KLINEAGE_HEAD=$theirs KLINEAGE_TOKEN=t0ken GITHUB_ENV="$PWD/env2" &&
	for n in 7 "8; touch pwned" "" "-1" 99999999999 "../8" "8 8"; do
		echo "$n" >klineage-out/number && exits 2 step github-report.yml "find the pull request" 2>err || return 1
	done && test ! -e pwned && test ! -e env2 &&
	echo 8 >klineage-out/number && KLINEAGE_HEAD="main" && exits 2 step github-report.yml "find the pull request" &&
	KLINEAGE_HEAD=$theirs && echo "{\"head\":{\"sha\":\"$theirs\"},\"base\":{\"sha\":\"x\\ny=z\"}}" >../api/pr-8.json &&
	exits 2 step github-report.yml "find the pull request" && test ! -e env2 &&
	for b in "" "--upload-pack=touch pwned" "HEAD" "$(printf "%040d" 0)"; do
		KLINEAGE_BASE=$b && exits 2 step github-report.yml prepare 2>err || return 1
	done && test ! -e pwned &&
	echo "no bundle" >klineage-out/notes.bundle && KLINEAGE_BASE=$base && exits 2 step github-report.yml "read the verdicts" &&
	for t in "" "a b" "x\"
header"; do
		KLINEAGE_TOKEN=$t && exits 2 step github-report.yml "find the pull request" 2>err || return 1
	done &&
	KLINEAGE_TOKEN=wrong && exits 2 step github-report.yml "find the pull request" 2>err && says "no pull request" err &&
	KLINEAGE_TOKEN=t0ken GITHUB_REPOSITORY="a/b/../../c" && exits 2 step github-report.yml "find the pull request"
	)
'

test_expect_success 'a comment behind a hundred others is found, and text of any kind arrives as it is' '
	(
	fresh_api "$(perl -MJSON::PP -e "print encode_json([(map { { id => \$_, body => \"x\", user => { login => \"a\" } } } 1 .. 150),
		{ id => 777, body => \"<!-- klineage-review -->\", user => { login => \"github-actions[bot]\" } }])")" &&
	mkdir -p page/klineage-out && cd page && printf "<!-- klineage-review -->\n\"quoted\" \\\\ caf\303\251 \$(touch pwned) \`x\`\n" >klineage-out/comment.md &&
	export KLINEAGE_TOKEN=t0ken KLINEAGE_PR=7 && step github-report.yml comment && test "$(mine)" = 1 && says 777 ../mine &&
	says "page=2" ../api/log && ! grep POST ../api/log && test ! -e pwned &&
	perl -MJSON::PP -0777 -e "my (\$c) = grep { \$_->{id} == 777 } @{decode_json(<STDIN>)}; utf8::encode(\$c->{body}); print \$c->{body}" <../api/comments.json >got &&
	test_cmp klineage-out/comment.md got
	)
'

test_expect_success 'two jobs push at once: neither loses a verdict' '
	(
	git clone -q up.git other && cd other && git fetch -q origin "refs/notes/klineage/gate:refs/notes/klineage/gate" && git fetch -q origin refs/pull/7/head &&
	git config klineage.profileMs 300 && git klineage gate --no-profile $base~2 >out &&
	cd ../g2 && git klineage gate --no-profile $base~3 >out && cd ../other && git push -q origin refs/notes/klineage/gate &&
	cd ../g2 && sh "$KLINEAGE_CI" push-notes >out 2>&1 && says "have moved" out &&
	for c in $base $own $base~2 $base~3; do git -C ../up.git notes --ref=klineage/gate show $(git rev-parse $c) >/dev/null || return 1; done
	)
'

# --- without a GPU -----------------------------------------------------------------------------

test_expect_success 'compile: built and audited here, judged elsewhere; what counts is a signature that the base knows' '
	command -v ssh-keygen >/dev/null || return 0
	(
	ssh-keygen -q -t ed25519 -N "" -f key && ssh-keygen -q -t ed25519 -N "" -f evil && cd r && git checkout -q main &&
	echo "author@example.invalid namespaces=\"klineage-gate\" $(cat ../key.pub)" >signers && git add signers && git commit -q -m signers &&
	git checkout -q -b gpu && kernel "	for (int64_t i = 0; i < n; ++i)
		y[i] = 3.0f * x[i] + 1.0f;" "scale: the other way" && echo "author@example.invalid $(cat ../evil.pub)" >signers &&
	git commit -q -a -m "my own signers" && git push -q ../up.git main gpu:refs/pull/9/head && new=$(git rev-parse gpu) &&
	KLINEAGE_BASE=$(git rev-parse main) KLINEAGE_HEAD=$new KLINEAGE_MODE=compile KLINEAGE_SIGNERS=signers KLINEAGE_PR=9 &&
	export KLINEAGE_BASE KLINEAGE_HEAD KLINEAGE_MODE KLINEAGE_SIGNERS KLINEAGE_PR &&
	cd .. && checkout c1 refs/pull/9/head && step github-actions.yml prepare &&
	step github-actions.yml gate >out && test -s klineage-out/job.tar && says "counts if it is signed" out &&
	exits 1 step github-actions.yml review && says "scale" klineage-out/comment.md &&
	for who in evil key; do
		cd ../r && git checkout -q gpu && git -c user.signingKey="$top/$who" -c gpg.format=ssh klineage gate --since main --no-profile --fresh --sign >out &&
		git -c user.signingKey="$top/$who" -c gpg.format=ssh klineage gate --no-profile --fresh --sign $new^ >out &&
		git fetch -q ../up.git refs/notes/klineage/gate && git notes --ref=klineage/gate merge -q -s cat_sort_uniq FETCH_HEAD &&
		git push -q ../up.git refs/notes/klineage/gate && cd ../c1 && step github-actions.yml prepare &&
		case $who in
		evil) exits 1 step github-actions.yml review || return 1 ;;
		key) KLINEAGE_ANSWERS=require step github-actions.yml review; code=$?; cat klineage-out/comment.md; test $code = 0 || return 1 ;;
		esac
	done
	)
'

test_expect_success 'without a named file, the list of the base counts, and not the one that the pull request brings' '
	command -v ssh-keygen >/dev/null || return 0
	(
	cd r && rm -f out && git checkout -q main && mkdir .klineage && echo "author@example.invalid namespaces=\"klineage-gate\" $(cat ../key.pub)" >.klineage/allowed_signers &&
	git add .klineage && git commit -q -m "a list" && git checkout -q -b listed && kernel "	for (int64_t i = 0; i < n; ++i)
		y[i] = 1.0f + 3.0f * x[i];" "scale: another way" && echo "author@example.invalid $(cat ../evil.pub)" >.klineage/allowed_signers &&
	git commit -q -a -m "my own list" && git push -q ../up.git main listed:refs/pull/13/head && new=$(git rev-parse listed) &&
	KLINEAGE_BASE=$(git rev-parse main) KLINEAGE_HEAD=$new KLINEAGE_MODE=compile KLINEAGE_PR=13 && export KLINEAGE_BASE KLINEAGE_HEAD KLINEAGE_MODE KLINEAGE_PR &&
	for who in evil key; do
		cd "$top/r" && git -c user.signingKey="$top/$who" klineage gate --no-profile --fresh --sign $new >"$top/judged" &&
		git fetch -q ../up.git refs/notes/klineage/gate && git notes --ref=klineage/gate merge -q -s cat_sort_uniq FETCH_HEAD &&
		git push -q ../up.git refs/notes/klineage/gate && cd .. && rm -rf c2 && checkout c2 refs/pull/13/head && step github-actions.yml prepare &&
		exits 1 step github-actions.yml review && says "the list of allowed signers was changed" klineage-out/comment.md || return 1
		case $who in
		evil) says "no allowed signer" klineage-out/comment.md || return 1 ;;
		key) ! grep "no allowed signer" klineage-out/comment.md && says "1 point to answer" klineage-out/comment.md || return 1 ;;
		esac
	done
	)
'

test_expect_success 'a kernel that does not compile fails there, too; one that cannot be judged is not passed over in silence' '
	(
	cd r && git checkout -q -b broken main && kernel "	return 1 +;" "scale: broken" && git push -q ../up.git broken:refs/pull/10/head &&
	KLINEAGE_BASE=$(git rev-parse main) KLINEAGE_HEAD=$(git rev-parse broken) && export KLINEAGE_BASE KLINEAGE_HEAD &&
	cd .. && checkout b1 refs/pull/10/head && step github-actions.yml prepare &&
	KLINEAGE_MODE=compile exits 1 step github-actions.yml gate >out && says "fail compile" out &&
	cd ../r && git checkout -q -b unwritten main &&
	printf "#include <stdint.h>\n#include \"kl_oracle.h\"\n#error TODO\n" >k/oracle.c && git commit -q -a -m "no oracle" &&
	exits 125 git klineage gate --since main >out 2>err && git push -q ../up.git unwritten:refs/pull/11/head &&
	KLINEAGE_HEAD=$(git rev-parse unwritten) && cd .. && checkout u1 refs/pull/11/head && step github-actions.yml prepare &&
	exits 125 step github-actions.yml gate && KLINEAGE_UNTESTED=allow step github-actions.yml gate
	)
'

# --- GitLab --------------------------------------------------------------------------------------

# --- a contract that a pull request makes weaker ------------------------------------------------

# says_who <body> <who>...: the comments of these people
says_who () {
	perl -MJSON::PP -e 'my $body = shift; print encode_json([map { { id => 5, body => $body,
		user => { login => $_ }, author => { id => /^\d+$/ ? $_ + 0 : 0 } } } @ARGV])' "$@"
}

test_expect_success 'a pull request that weakens its contract is refused until somebody else who can push has answered' '
	(
	cd r && git checkout -q -b weaker main && sed -i "s/, {n: 1021}//" k/klineage.yaml && git commit -q -a -m "scale: faster tests" && git push -q ../up.git weaker:refs/pull/12/head && head=$(git rev-parse weaker) &&
	pull "$head" "$base" main >../api/pr-12.json &&
	for who in author writer; do echo "{\"permission\":\"write\"}" >../api/may-$who.json; done && echo "{\"permission\":\"read\"}" >../api/may-reader.json &&
	KLINEAGE_HEAD=$head KLINEAGE_PR=12 KLINEAGE_TOKEN=t0ken && export KLINEAGE_HEAD KLINEAGE_PR KLINEAGE_TOKEN &&
	cd .. && checkout w1 refs/pull/12/head && fresh_api && step github-report.yml prepare &&
	KLINEAGE_ANSWERS=advise step github-report.yml review && says "no longer checked" klineage-out/comment.md &&
	exits 1 step github-report.yml answered >out && says "klineage: answered $head" out && test "$(tail -n 1 ../api/statuses)" = "$head failure" &&
	KLINEAGE_ANSWERS=advise step github-report.yml answered && test "$(tail -n 1 ../api/statuses)" = "$head success" &&
	for who in author reader nobody "a/../writer"; do
		fresh_api "$(says_who "klineage: answered $head" "$who")" && exits 1 step github-report.yml answered && test "$(tail -n 1 ../api/statuses)" = "$head failure" || return 1
	done &&
	for line in "klineage: answered $base" "not klineage: answered $head" "klineage: answered ${head}0"; do
		fresh_api "$(says_who "$line" writer)" && exits 1 step github-report.yml answered || return 1
	done &&
	fresh_api "$(says_who "fine
klineage: answered $head" author reader writer)" && step github-report.yml answered && test "$(tail -n 1 ../api/statuses)" = "$head success" &&
	# without a review of its own the status is failure, whatever the first job handed over
	: >../api/statuses && for code in 128 "" none; do
		echo "$code" >klineage-out/review && if test "$code" = none; then rm klineage-out/review; fi &&
		exits 2 step github-report.yml answered && test "$(tail -n 1 ../api/statuses)" = "$head failure" && : >../api/statuses || return 1
	done &&
	echo 0 >klineage-out/review && KLINEAGE_SIGNERS=nowhere exits 2 step github-report.yml review &&
	exits 2 step github-report.yml answered && test "$(cat ../api/statuses)" = "$head failure" && : >../api/statuses &&
	echo 0 >klineage-out/review && echo 12 >klineage-out/number && step github-report.yml "find the pull request" &&
	exits 2 step github-report.yml answered && test "$(cat ../api/statuses)" = "$head failure"
	)
'

test_expect_success 'an error after the branch is known replaces an earlier success by a failure' '
	(
	cd w1 && head=$(git rev-parse HEAD) && KLINEAGE_HEAD=$head KLINEAGE_PR=12 KLINEAGE_TOKEN=t0ken && export KLINEAGE_HEAD KLINEAGE_PR KLINEAGE_TOKEN && fresh_api &&
	echo 1 >klineage-out/review && : >../api/statuses && KLINEAGE_ANSWERS=advise step github-report.yml answered &&
	test "$(cat ../api/statuses)" = "$head success" &&
	(KLINEAGE_BASE=$own && exits 2 step github-report.yml answered 2>err) && says "has changed" err && test "$(tail -n 1 ../api/statuses)" = "$head failure" &&
	: >../api/statuses && sed "s/,.user.*/}/" ../api/pr-12.json >../api/pr-13.json && KLINEAGE_PR=13 exits 2 step github-report.yml answered 2>err &&
	says "cannot find the author" err && test "$(cat ../api/statuses)" = "$head failure" &&
	# the request is read once, and one that was not found sets nothing
	fresh_api && : >../api/statuses && exits 1 step github-report.yml answered && test "$(grep -c "pulls/12$" ../api/log)" = 1 &&
	: >../api/statuses && KLINEAGE_PR= exits 2 step github-report.yml answered 2>err && says "KLINEAGE_PR is not a number" err && test ! -s ../api/statuses
	)
'

test_expect_success 'one without points to answer is not held up' '
	(
	cd g2 && KLINEAGE_HEAD=$(git rev-parse "$own~") KLINEAGE_PR=7 KLINEAGE_TOKEN=t0ken && export KLINEAGE_HEAD KLINEAGE_PR KLINEAGE_TOKEN && fresh_api &&
	step github-report.yml review && test "$(cat klineage-out/review)" = 0 && step github-report.yml answered && test "$(tail -n 1 ../api/statuses)" = "$KLINEAGE_HEAD success"
	)
'

test_expect_success 'a second pull request of the same head, onto a branch of the author, sets no status' '
	(
	cd w1 && head=$(git rev-parse HEAD) && pull "$head" "$head" main-too >../api/pr-14.json && : >../api/statuses && fresh_api &&
	KLINEAGE_HEAD=$head KLINEAGE_BASE=$head KLINEAGE_PR=14 KLINEAGE_TOKEN=t0ken && export KLINEAGE_HEAD KLINEAGE_BASE KLINEAGE_PR KLINEAGE_TOKEN &&
	step github-report.yml review && test "$(cat klineage-out/review)" = 0 &&
	step github-report.yml answered >out && says "not onto main" out && test ! -s ../api/statuses &&
	# a branch whose rules require the status can be named
	(KLINEAGE_BRANCH=main-too && export KLINEAGE_BRANCH && step github-report.yml answered) && test "$(cat ../api/statuses)" = "$head success" &&
	# one that was reviewed against that branch, and moved to main since
	: >../api/statuses && pull "$head" "$base" main >../api/pr-14.json && exits 2 step github-report.yml answered 2>err && says "has changed" err &&
	test "$(cat ../api/statuses)" = "$head failure" && : >../api/statuses && pull "$head" "$head" "" >../api/pr-14.json && step github-report.yml answered >out && test ! -s ../api/statuses
	)
'

test_expect_success 'GitLab: the job fails until a developer other than the author has answered' '
	(
	cd w1 && head=$(git rev-parse HEAD) && export CI_API_V4_URL=https://gitlab.example.invalid/api/v4 CI_PROJECT_ID=5 CI_MERGE_REQUEST_IID=7 KLINEAGE_TOKEN=t0ken KLINEAGE_HEAD="$head" &&
	echo "{\"author\":{\"id\":30}}" >../api/mr-7.json && echo "{\"access_level\":40}" >../api/member-30.json && echo "{\"access_level\":30}" >../api/member-31.json &&
	echo "{\"access_level\":20}" >../api/member-32.json && echo 1 >klineage-out/review &&
	# the account of the token may push, but everybody who can push can write in its name
	echo "{\"access_level\":40}" >../api/member-42.json &&
	answered () { fresh_api "$(says_who "klineage: answered $head" "$@")" && sh "$KLINEAGE_CI" answered; } &&
	exits 1 answered && exits 1 answered 30 && exits 1 answered 32 33 && exits 1 answered 42 && exits 1 answered 30 42 && answered 42 31 && answered 30 31 && KLINEAGE_ANSWERS=advise answered &&
	grep "KLINEAGE_CI\" answered" "$ci/gitlab-ci.yml"
	)
'

test_expect_success 'GitLab: the same, by its variables and its API' '
	(
	fresh_api && export CI_MERGE_REQUEST_DIFF_BASE_SHA="$base" CI_COMMIT_SHA="$own" CI_API_V4_URL=https://gitlab.example.invalid/api/v4 \
		CI_PROJECT_ID=5 CI_MERGE_REQUEST_IID=7 CI_PROJECT_URL="file://$top/up" KLINEAGE_TOKEN=t0ken && unset KLINEAGE_BASE &&
	export KLINEAGE_REQUIRE=advise && # the measured speed must not matter here
	checkout l1 refs/pull/7/head && gitlab klineage-gate script >out && says "scale: pass" out && gitlab klineage-gate after_script &&
	cd .. && checkout l2 refs/pull/7/head && cp -R ../l1/klineage-out . && gitlab klineage-report script >out 2>&1 &&
	test "$(mine)" = 1 && gitlab klineage-report script >out 2>&1 && test "$(mine)" = 1 &&
	says "PUT https://gitlab.example.invalid/api/v4/projects/5/merge_requests/7/notes/1000" ../api/log &&
	! grep -r t0ken .git klineage-out
	)
'

test_expect_success 'gate --since: nothing to do, a contract that is gone or cannot be read' '
	(
	cd r && git checkout -q main && git klineage gate --since main >out && says "no kernel differs" out &&
	test -z "$(git klineage gate --since main --json)" &&
	exits 129 git klineage gate --since main --worktree 2>err && exits 129 git klineage gate --since main a b 2>err &&
	exits 128 git klineage gate --since nowhere 2>err &&
	git checkout -q -b gone && git rm -q -r k && git commit -q -m gone && git klineage gate --since main 2>err && says "its contract was removed" err &&
	git checkout -q -b unreadable main && echo "{" >k/klineage.yaml && git commit -q -a -m bad && exits 1 git klineage gate --since main 2>err &&
	says "cannot read its contract" err
	)
'

test_expect_success 'init --ci puts the recipes in place, and overwrites nothing' '
	(
	git init -q fresh && cd fresh && mkdir sub && cd sub && git klineage init --ci github >out && says "klineage-report.yml" out &&
	cmp "$ci/github-actions.yml" ../.github/workflows/klineage.yml && cmp "$ci/github-report.yml" ../.github/workflows/klineage-report.yml &&
	git klineage init --ci gitlab && cmp "$ci/gitlab-ci.yml" ../.gitlab-ci.yml && echo mine >../.gitlab-ci.yml &&
	exits 128 git klineage init --ci gitlab 2>err && says "not overwriting it" err && test "$(cat ../.gitlab-ci.yml)" = mine &&
	rm ../.github/workflows/klineage.yml && exits 128 git klineage init --ci github 2>err && test ! -e ../.github/workflows/klineage.yml &&
	exits 129 git klineage init --ci gitea 2>err && exits 129 git klineage init --ci github x 2>err &&
	cd .. && git init -q --bare b.git && cd b.git && exits 128 git klineage init --ci github 2>err && says bare err
	)
'

test_expect_success 'the recipes are YAML to others, too' '
	command -v ruby >/dev/null || return 0
	for f in "$ci"/*.yml; do ruby -ryaml -e "YAML.load_file(ARGV[0])" "$f" || return 1; done
'

test_done
