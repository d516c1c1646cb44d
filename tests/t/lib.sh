# SPDX-License-Identifier: Apache-2.0
# lib.sh - the environment of the command tests; each begins with `test_description=...; . ./lib.sh`.
# It loads sharness and sets an empty home directory, fixed dates, a fixed identity and no system configuration of git.
# KLINEAGE_BUILD=<directory> is the build to test; with KLINEAGE_GIT=<directory> the git in that directory is used.
KLINEAGE_TOP=$(cd .. && cd .. && pwd)
: "${KLINEAGE_BUILD:=$KLINEAGE_TOP/build}"
. /usr/share/sharness/sharness.sh

for v in $(env | sed -n 's/^\(GIT_[A-Z_]*\)=.*/\1/p; s/^\(KLINEAGE_[A-Z_]*\)=.*/\1/p'); do
	case $v in KLINEAGE_BUILD|KLINEAGE_TOP|KLINEAGE_GIT|KLINEAGE_CHEATS_*) ;; *) unset "$v" ;; esac
done
HOME=$SHARNESS_TRASH_DIRECTORY/home
mkdir -p "$HOME"
GIT_CONFIG_NOSYSTEM=1
GIT_CEILING_DIRECTORIES=$(dirname "$SHARNESS_TRASH_DIRECTORY")
GIT_AUTHOR_NAME='A U Thor' GIT_AUTHOR_EMAIL=author@example.invalid
GIT_COMMITTER_NAME='C O Mitter' GIT_COMMITTER_EMAIL=committer@example.invalid
GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
LC_ALL=C TZ=UTC
PATH=$KLINEAGE_BUILD:${KLINEAGE_GIT:+$KLINEAGE_GIT:}$PATH
export HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL TZ PATH KLINEAGE_BUILD KLINEAGE_TOP
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE
git config --global init.defaultBranch main
git config --global advice.detachedHead false

# exits <status> <command...>: succeed if the command exits with exactly that status
exits () {
	want=$1
	shift
	"$@"
	got=$?
	test "$got" = "$want" && return 0
	echo "exit status $got, expected $want: $*" >&2
	return 1
}

# says <text> <file>: succeed if the file contains the text; otherwise print the file
says () {
	grep -F -e "$1" "$2" >/dev/null && return 0
	echo "'$1' not found in $2:" >&2
	cat "$2" >&2
	return 1
}

# reseal <perl code on $j> <file>: print a results file with each result changed by the code and its digests recomputed
reseal () {
	perl -MJSON::PP -MDigest::SHA=sha256_hex -e '
		my $json = JSON::PP->new->canonical->ascii; my $all = ""; my $n = 0;
		while (<STDIN>) {
			my $j = decode_json($_);
			if (exists $j->{job}) {
				delete $j->{sha256}; eval $ARGV[0]; die $@ if $@; $n++;
				$j->{sha256} = sha256_hex($json->encode($j));
			} elsif (exists $j->{end}) {
				$j = { end => $n, sha256 => sha256_hex($all) };
			}
			$all .= $json->encode($j) . "\n";
		}
		print $all;' "$1" <"$2"
}

# forge <perl code on $j> <file>: print the lines of a note with each event changed by the code, without a signature
# and with the id of what it is now
forge () {
	perl -MJSON::PP -MDigest::SHA=sha256_hex -e '
		my $json = JSON::PP->new->canonical->ascii;
		while (<STDIN>) {
			my $j = decode_json($_);
			eval $ARGV[0]; die $@ if $@;
			my %content = %$j; delete @content{qw(id sig commit tree)}; delete $j->{sig};
			$j->{id} = sha256_hex($json->encode(\%content));
			print $json->encode($j), "\n";
		}' "$1" <"$2"
}

# member <key> <file>: print a string of the first line
member () {
	perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); print $j->{$ARGV[0]} // ""' "$1" <"$2"
}

# sign_line <key file> <file>: print the first line, signed
sign_line () {
	member id "$2" >signed-id && ssh-keygen -q -Y sign -n klineage-gate -f "$1" <signed-id >signed-sig 2>/dev/null &&
	perl -MJSON::PP -e 'my $j = decode_json(scalar <STDIN>); local $/; open my $f, "<", "signed-sig"; $j->{sig} = <$f>;
		print JSON::PP->new->canonical->ascii->encode($j), "\n"' <"$2"
}
