#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# klineage-ci.sh <command>: the commands of the recipes in this folder, for a pull request (GitHub) or a merge request
# (GitLab).
#
#	prepare		fetch base, head, the commits between them and the notes into a shallow clone
#	gate		judge every kernel that differs from the base; write the verdicts to $KLINEAGE_OUT/notes.bundle
#	review		write $KLINEAGE_OUT/comment.md
#	take-notes	add the verdicts of another job, from $KLINEAGE_OUT/notes.bundle
#	push-notes	push the verdicts to the remote
#	find-pr		GitHub: verify that the number in $KLINEAGE_OUT/number is the pull request of $KLINEAGE_HEAD
#	comment		post $KLINEAGE_OUT/comment.md, or replace the earlier comment
#	answered	fail unless `review` found nothing to answer, or somebody who can push here, other than the author
#			and the account of KLINEAGE_TOKEN, has written the comment "klineage: answered <head>"; on GitHub, set
#			the status `klineage` of the head, for a pull request onto $KLINEAGE_BRANCH, also to failure
#			where there is no valid review
#
# Except for the commits themselves, nothing that a pull request can choose (titles, branch names, paths) is used here.
# Variables:
#
#	KLINEAGE_BASE, KLINEAGE_HEAD	commits, 40 digits
#	KLINEAGE_MODE			`gate` (default), or `compile`: compile and audit the kernels here, to be judged
#					elsewhere; then only verdicts of an allowed signer count
#	KLINEAGE_UNTESTED		`fail` (default) or `allow` a kernel that cannot be judged here
#	KLINEAGE_ANSWERS		`require`: `review` fails if something must be answered (default with `compile`);
#					`advise`: it does not (default otherwise). `answered` requires by default
#	KLINEAGE_SIGNERS		allowed signers: a file of the base in the form of gpg.ssh.allowedSignersFile; default:
#					.klineage/allowed_signers of the base
#	KLINEAGE_BRANCH			GitHub: the base branch whose rules require the status; default: the default branch
#	KLINEAGE_SIGN			`true`: sign verdicts with git's user.signingKey
#	KLINEAGE_OUT, KLINEAGE_REMOTE	default klineage-out, origin
#	KLINEAGE_TOKEN			token of the API. GitHub also needs GITHUB_REPOSITORY, GITHUB_API_URL; GitLab
#					CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID
set -u
out=${KLINEAGE_OUT:-klineage-out}
remote=${KLINEAGE_REMOTE:-origin}
mode=${KLINEAGE_MODE:-gate}
notes=refs/notes/klineage/gate
theirs=refs/notes/remotes/ci/klineage/gate
marker='<!-- klineage-review -->'	# written by review

sets=	# "yes": `answered` may set the status (find_branch); "last": die sets it

# die <message>: exit; a success that an earlier run gave the head must not stay there
die () {
	echo "klineage-ci: $*" >&2
	if [ "$sets" = yes ]; then
		sets=last
		status failure "there is no review; the job says why"
	fi
	exit 2
}
say () { echo "klineage-ci: $*"; }

is_commit () {
	case $1 in ''|*[!0-9a-f]*) return 1 ;; esac
	[ ${#1} -eq 40 ]
}
is_number () {
	case $1 in ''|*[!0-9]*|??????????*) return 1 ;; esac
}

commits () {
	base=${KLINEAGE_BASE:-} head=${KLINEAGE_HEAD:-}
	is_commit "$base" || die "KLINEAGE_BASE is not a commit id"
	is_commit "$head" || die "KLINEAGE_HEAD is not a commit id"
}
has () { git cat-file -e "$1^{commit}" 2>/dev/null; }

# commits of notes need an author
identity () {
	git config user.name >/dev/null || git config user.name "${KLINEAGE_NAME:-git-klineage CI}"
	git config user.email >/dev/null || git config user.email "${KLINEAGE_EMAIL:-ci@git-klineage.invalid}"
}

# --- commits and notes ------------------------------------------------------------------

prepare () {
	commits
	identity
	for c in "$base" "$head"; do
		has "$c" || git fetch --quiet --no-tags --depth=1 "$remote" "$c" || die "cannot fetch $c"
	done
	for more in 20 100 500 2500; do
		git merge-base "$base" "$head" >/dev/null && break
		[ "$(git rev-parse --is-shallow-repository)" = true ] || break
		git fetch --quiet --no-tags --deepen=$more "$remote" "$base" "$head" || die "cannot fetch more"
	done
	git merge-base "$base" "$head" >/dev/null || say "no merge base found; comparing with the base itself"
	fetch_notes || die "cannot fetch the notes"
}

merge_notes () {	# merge_notes <ref>: merge its lines into ours
	git rev-parse --quiet --verify "$1" >/dev/null || return 0
	if git rev-parse --quiet --verify $notes >/dev/null; then
		git notes --ref=$notes merge --quiet --strategy=cat_sort_uniq "$1"
	else
		git update-ref $notes "$1"
	fi
}

fetch_notes () {
	tracking=refs/notes/remotes/$remote/klineage
	git fetch --quiet --no-tags "$remote" "+refs/notes/klineage/*:$tracking/*" && merge_notes "$tracking/gate"
}

take_notes () {
	identity
	[ -e "$out/notes.bundle" ] || { say "no verdicts to take"; return 0; }
	git -c fetch.fsckObjects=true fetch --quiet --no-tags "$out/notes.bundle" "+$notes:$theirs" || die "'$out/notes.bundle' holds no notes"
	merge_notes $theirs || die "cannot merge the notes of '$out/notes.bundle'"
}

push_notes () {
	identity
	git rev-parse --quiet --verify $notes >/dev/null || { say "no verdicts to push"; return 0; }
	for turn in 1 2 3 4 5 6 7 8; do
		git push --quiet "$remote" "$notes:$notes" && return 0
		say "the notes have moved; merging again ($turn)"
		sleep "$((turn % 3))"
		fetch_notes || die "cannot fetch the notes"
	done
	die "cannot push the notes"
}

# --- gate and review -----------------------------------------------------------------------

since () { git merge-base "$base" "$head" 2>/dev/null || echo "$base"; }

gate () {
	commits
	identity
	mkdir -p "$out" || exit 2
	set -- --since "$(since)"
	[ "${KLINEAGE_SIGN:-}" != true ] || set -- "$@" --sign
	[ "$mode" != compile ] || set -- "$@" --runner bundle --output "$out/job.tar"
	git klineage gate "$@" "$head"
	code=$?
	if git rev-parse --quiet --verify $notes >/dev/null; then
		git bundle create --quiet "$out/notes.bundle" $notes || die "cannot bundle the notes"
	fi
	[ $code -eq 125 ] || return $code
	if [ "$mode" = compile ]; then
		say "compiled and audited; a verdict from another machine counts if it is signed"
		return 0
	fi
	[ "${KLINEAGE_UNTESTED:-fail}" = fail ] || return 0
	say "a kernel cannot be judged here"
	return 125
}

review () {
	commits
	mkdir -p "$out" || exit 2
	rm -f "$out/review"
	set -- git
	[ "$mode" != compile ] || set -- "$@" -c klineage.requireSigned=true
	if [ -n "${KLINEAGE_SIGNERS:-}" ]; then	# the base's version, not the head's
		git cat-file blob "$base:$KLINEAGE_SIGNERS" >"$out/signers" || die "the base has no $KLINEAGE_SIGNERS"
		set -- "$@" -c gpg.ssh.allowedSignersFile="$(cd "$out" && pwd)/signers"
	else
		set -- "$@" -c klineage.signers="$base"
	fi
	"$@" klineage review --format markdown "$base..$head" >"$out/comment.md"
	code=$?
	echo $code >"$out/review"
	answers=${KLINEAGE_ANSWERS:-$([ "$mode" = compile ] && echo require || echo advise)}
	[ $code -eq 1 ] && [ "$answers" != require ] && return 0
	return $code
}

# --- the comment -----------------------------------------------------------------------------

# api <method> <url> [<file to send>]: print the reply. The token is not in any argument list.
api () {
	case ${KLINEAGE_TOKEN:-} in ''|*[!A-Za-z0-9._~+/=-]*) die "KLINEAGE_TOKEN is not set or malformed" ;; esac
	printf '%s: %s %s\n' "klineage-ci" "$1" "$2" >&2
	if [ -n "${CI_API_V4_URL:-}" ]; then
		header="PRIVATE-TOKEN: $KLINEAGE_TOKEN"
	else
		header="Authorization: Bearer $KLINEAGE_TOKEN"
	fi
	printf 'header = "%s"\n' "$header" |
		curl --config - --silent --show-error --fail --max-time 60 --request "$1" \
			--header 'Content-Type: application/json' ${3:+--data-binary "@$3"} "$2"
}

# field <name>...: print a member of the JSON on stdin, if it is a string or a number
field () {
	perl -MJSON::PP -0777 -e 'my $j = eval { decode_json(<STDIN>) }; for (@ARGV) { $j = ref $j eq "HASH" ? $j->{$_} : undef }
		print "$j\n" if defined $j && !ref $j' "$@"
}

# ours <key>...: print the length of a list of comments, and the id of the first one with the marker by $author
ours () {
	MARKER=$marker AUTHOR=$author perl -MJSON::PP -0777 -e 'my $list = eval { decode_json(<STDIN>) };
		ref $list eq "ARRAY" or exit 1;
		my ($id) = map { $_->{id} } grep {
			my $who = $_;
			$who = ref $who eq "HASH" ? $who->{$_} : undef for @ARGV;
			index($_->{body} // "", $ENV{MARKER}) == 0 && defined $who && $who eq $ENV{AUTHOR}
		} @$list;
		print scalar(@$list), " ", $id // "", "\n"' "$@"
}

github () {
	case ${GITHUB_REPOSITORY:-} in */*/*|*[!A-Za-z0-9._/-]*|'') die "GITHUB_REPOSITORY is not set or malformed" ;; esac
	url=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY
}

find_pr () {
	rm -f "$out/review"	# the first job's
	github
	read -r number <"$out/number" || die "cannot read '$out/number'"
	is_number "$number" || die "'$out/number' is not a number"
	is_commit "${KLINEAGE_HEAD:-}" || die "KLINEAGE_HEAD is not a commit id"
	api GET "$url/pulls/$number" >"$out/pr.json" || die "no pull request $number"
	[ "$(field head sha <"$out/pr.json")" = "$KLINEAGE_HEAD" ] || die "pull request $number is at another commit"
	base=$(field base sha <"$out/pr.json")
	is_commit "$base" || die "pull request $number has no base"
	[ -z "${GITHUB_ENV:-}" ] || printf 'KLINEAGE_PR=%s\nKLINEAGE_BASE=%s\n' "$number" "$base" >>"$GITHUB_ENV"
}

# thread: set $url, $list (the comments) and $change, for the API of the forge
thread () {
	if [ -n "${CI_API_V4_URL:-}" ]; then
		is_number "${CI_PROJECT_ID:-}" || die "CI_PROJECT_ID is not a number"
		is_number "${CI_MERGE_REQUEST_IID:-}" || die "CI_MERGE_REQUEST_IID is not a number"
		url=$CI_API_V4_URL/projects/$CI_PROJECT_ID
		request=$url/merge_requests/$CI_MERGE_REQUEST_IID
		list=$request/notes one=$request/notes change=PUT keys='author id'
	else
		github
		is_number "${KLINEAGE_PR:-}" || die "KLINEAGE_PR is not a number"
		request=$url/pulls/$KLINEAGE_PR
		list=$url/issues/$KLINEAGE_PR/comments one=$url/issues/comments change=PATCH keys='user login'
	fi
}

# find_bot: set $bot to the account that KLINEAGE_TOKEN belongs to
find_bot () {
	if [ -n "${CI_API_V4_URL:-}" ]; then
		bot=$(api GET "$CI_API_V4_URL/user" | field id)
		is_number "$bot" || die "cannot find the user of KLINEAGE_TOKEN"
	else
		bot=${KLINEAGE_BOT:-github-actions[bot]}
	fi
}

comment () {
	[ -s "$out/comment.md" ] || die "no $out/comment.md"
	thread
	find_bot
	author=$bot
	perl -MJSON::PP -MEncode -0777 -e 'print JSON::PP->new->ascii->encode({ body => decode("UTF-8", <STDIN>) })' \
		<"$out/comment.md" >"$out/comment.json" || die "cannot write the comment"
	page=1 id=
	while [ $page -le 50 ]; do
		# shellcheck disable=SC2086
		found=$(api GET "$list?per_page=100&page=$page" | ours $keys) || die "cannot read the comments"
		id=${found#* }
		if [ -n "$id" ] || [ "${found%% *}" != 100 ]; then break; fi
		page=$((page + 1))
	done
	if [ -n "$id" ]; then
		case $id in *[!0-9]*) die "malformed id of a comment" ;; esac
		api $change "$one/$id" "$out/comment.json" >/dev/null || die "cannot change the comment"
	else
		api POST "$list" "$out/comment.json" >/dev/null || die "cannot post the comment"
	fi
}

# --- answers ---------------------------------------------------------------------------------

# writers <key>...: of a list of comments, print its length, then the authors of those with the line that answers $head
writers () {
	LINE="klineage: answered $head" perl -MJSON::PP -0777 -e 'my $list = eval { decode_json(<STDIN>) };
		ref $list eq "ARRAY" or exit 1;
		print scalar(@$list), "\n";
		for my $c (grep { ref $_ eq "HASH" } @$list) {
			grep { s/\s+$//r eq $ENV{LINE} } split /\n/, $c->{body} // "" or next;
			my $who = $c;
			$who = ref $who eq "HASH" ? $who->{$_} : undef for @ARGV;
			print "$who\n" if defined $who && !ref $who;
		}' "$@"
}

# can_push <who>: is it somebody whom the forge lets push to this repository?
can_push () {
	if [ -n "${CI_API_V4_URL:-}" ]; then
		is_number "$1" || return 1
		level=$(api GET "$url/members/all/$1" | field access_level)
		is_number "$level" && [ "$level" -ge 30 ]
	else
		case $1 in ''|*[!A-Za-z0-9-]*) return 1 ;; esac
		case $(api GET "$url/collaborators/$1/permission" | field permission) in admin|write) ;; *) return 1 ;; esac
	fi
}

# has_answer: has somebody who can push, other than the author of the request, answered $head? The account of
# KLINEAGE_TOKEN does not count: whoever can read the token, such as the author, can write its comments.
has_answer () {
	# shellcheck disable=SC2086
	author=$(field $keys <"$out/request.json")
	[ -n "$author" ] || die "cannot find the author"
	find_bot
	page=1
	while [ $page -le 50 ]; do
		# shellcheck disable=SC2086
		found=$(api GET "$list?per_page=100&page=$page" | writers $keys) || die "cannot read the comments"
		for who in $(printf '%s\n' "$found" | sed 1d | sort -u); do
			case $who in "$author"|"$bot") continue ;; esac
			can_push "$who" && return 0
		done
		[ "$(printf '%s\n' "$found" | sed -n 1p)" = 100 ] || return 1
		page=$((page + 1))
	done
	return 1
}

# find_branch: read the request; on GitHub, set $sets to "yes" if the status may be set. A status belongs to a commit,
# whatever pull request it is for: one onto another branch, with a contract of the author's choice, must not set it for
# $KLINEAGE_BRANCH.
find_branch () {
	api GET "$request" >"$out/request.json" || die "cannot read the request"
	[ -z "${CI_API_V4_URL:-}" ] || return 0
	branch=${KLINEAGE_BRANCH:-$(field base repo default_branch <"$out/request.json")}
	[ -n "$branch" ] || die "cannot find the default branch"
	if [ "$(field base ref <"$out/request.json")" = "$branch" ]; then
		sets=yes
	else
		say "this pull request is not onto $branch, so the status is not set"
	fi
	[ "$(field base sha <"$out/request.json")" = "$base" ] || die "the base of pull request $KLINEAGE_PR has changed; run this job again"
}

# status <state> <text>: of the head, on GitHub; the job's own is what GitLab shows
status () {
	[ -n "$sets" ] || return 0
	printf '{"state":"%s","context":"klineage","description":"%s"}\n' "$1" "$2" >"$out/status.json"
	api POST "$url/statuses/$head" "$out/status.json" >/dev/null || die "cannot set the status"
}

answered () {
	commits
	thread
	find_branch
	code=
	[ ! -f "$out/review" ] || read -r code <"$out/review"
	case $code in
	0) status success "nothing to answer"; return ;;
	1) ;;
	*) die "the review failed, or did not run" ;;
	esac
	if [ "${KLINEAGE_ANSWERS:-require}" = advise ]; then
		status success "points to answer, which are not required here"
	elif has_answer; then
		status success "the points are answered"
	else
		status failure "points to answer"
		say "there are points to answer. Somebody who can push here, other than the author, accepts them with a comment of the line"
		say "  klineage: answered $head"
		say "and runs this job again."
		return 1
	fi
}

case $mode in gate|compile) ;; *) die "KLINEAGE_MODE must be gate or compile" ;; esac
case ${1:-} in
prepare|gate|review|comment|answered) "$1" ;;
take-notes) take_notes ;;
push-notes) push_notes ;;
find-pr) find_pr ;;
*) die "unknown command '${1:-}'" ;;
esac
