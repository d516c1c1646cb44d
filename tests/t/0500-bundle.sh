#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='gate --runner bundle, klineage-worker --bundle, gate --import: a verdict from elsewhere'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

# member <key> <file>: of the first line of JSON
member () {
	perl -MJSON::PP -e 'my $v = decode_json(scalar <STDIN>); $v = $v->{$_} for split /\./, $ARGV[0];
		print $v // "", "\n"' "$1" <"$2"
}

test_expect_success 'without a worker there is no verdict, but a file and what to do with it' '
	(make_repo r) && cd r &&
	exits 125 git klineage gate --runner bundle -o ../a.tar >../out 2>../err && cd .. &&
	says a.tar out && says "klineage-worker --bundle a.tar -o a.results" err && says "gate --import" err &&
	tar tf a.tar >names && says manifest.json names &&
	test -z "$(git -C r for-each-ref refs/notes)"
'

test_expect_success 'the same job is the same bytes' '
	(cd r && exits 125 git klineage gate --runner bundle -o ../b.tar) && test_cmp a.tar b.tar
'

test_expect_success 'a worker in another place does it; what it says is imported and noted' '
	mkdir away && cp a.tar away/ && (cd away && klineage-worker --bundle a.tar -o a.results 2>err && says "[1/1] scale" err) &&
	(cd r && git klineage gate --import ../away/a.results) >out && says "1 imported" out &&
	git -C r notes --ref=klineage/gate show HEAD >note && test "$(member verdict note)" = pass &&
	test "$(member tier note)" = host-restricted && says "\"vs\":[{" note &&
	test "$(member commit note)" = "$(git -C r rev-parse HEAD)"
'

test_expect_success 'the verdict is that of a local run' '
	(cd r && git klineage gate --runner bundle >../there && git klineage gate --no-note >../here) &&
	says "judged before" there && says "scale: pass" there && says "scale: pass" here &&
	grep "^  features" there >f1 && grep "^  features" here >f2 && test_cmp f1 f2
'

test_expect_success 'the same results again change nothing' '
	git -C r rev-parse refs/notes/klineage/gate >before &&
	(cd r && git klineage gate --import ../away/a.results) >out && says "0 imported, 1 already known" out &&
	git -C r notes --ref=klineage/gate show HEAD | grep -c . >n && test "$(cat n)" = 1 &&
	git -C r rev-parse refs/notes/klineage/gate >after && test_cmp before after
'

test_expect_success 'a wrong kernel is as wrong there' '
	(cd r && exits 125 git klineage gate --runner bundle -o ../w.tar HEAD^) &&
	klineage-worker --bundle w.tar -o w.results 2>err && (cd r && git klineage gate --import ../w.results) >out &&
	says " fail" out && (cd r && exits 1 git klineage gate --runner bundle HEAD^ >../out) &&
	says "fail wrong" out && says "replay: git klineage gate" out
'

test_expect_success 'what does not compile needs no worker' '
	(cd r && echo "not C" >k/scale.c && exits 1 git klineage gate --worktree --runner bundle >../out;
		git checkout -q k/scale.c) && says "fail compile" out
'

# --- results that are not to be believed ------------------------------------------

test_expect_success 'results for a job that nobody here sent' '
	(make_repo other) && cd other && exits 128 git klineage gate --import ../away/a.results >../out 2>../err && cd .. &&
	says "sent no job" err && says "1 refused" out && test -z "$(git -C other for-each-ref refs/notes)"
'

test_expect_success 'a changed byte anywhere is refused, and what is whole is taken' '
	reseal "" away/a.results >same && test_cmp away/a.results same &&
	sed "s/\"status\":\"pass\"/\"status\":\"fail\"/" away/a.results >changed &&
	(cd r && exits 128 git klineage gate --import ../changed >../out 2>../err) && says "does not match its digest, so it was changed" err &&
	sed "s/\"worker\":\"/\"worker\":\"9/" away/a.results >changed &&
	(cd r && exits 128 git klineage gate --import ../changed 2>../err) && says "so the file was changed" err
'

test_expect_success 'cut off: at the end, within a line, within the head' '
	sed \$d away/a.results >cut && (cd r && exits 128 git klineage gate --import ../cut 2>../err) && says "cut off" err &&
	says "same klineage-worker command again to resume" err &&
	for n in 10 100 300 600; do
		head -c $n away/a.results >cut &&
		(cd r && exits 128 git klineage gate --import ../cut 2>../err) || return 1
	done &&
	: >empty && (cd r && exits 128 git klineage gate --import ../empty 2>../err) && says "not a results file" err &&
	{ cat away/a.results && echo more; } >more && (cd r && exits 128 git klineage gate --import ../more 2>../err) &&
	says "after the end" err
'

test_expect_success 'sealed rightly, but for another surface, or with nothing behind its pass, or of a strange form' '
	reseal "\$j->{surface} = q(0) x 64" away/a.results >bad &&
	(cd r && exits 128 git klineage gate --import ../bad 2>../err) && says "another surface" err &&
	reseal "delete \$j->{result}{correct}" away/a.results >bad &&
	(cd r && exits 128 git klineage gate --import ../bad 2>../err) && says "no case was checked" err &&
	reseal "\$j->{result}{status} = q(excellent)" away/a.results >bad &&
	(cd r && exits 128 git klineage gate --import ../bad 2>../err) && says "excellent" err &&
	reseal "\$j->{time} = q(yesterday)" away/a.results >bad &&
	(cd r && exits 128 git klineage gate --import ../bad 2>../err) && says "time is missing or malformed" err &&
	reseal "\$j->{result}{status} = q(cannot); \$j->{result}{message} = q(no such device)" away/a.results >bad &&
	(cd r && exits 125 git klineage gate --import ../bad 2>../err) && says "no such device" err
'

test_expect_success 'results under older rules are stale' '
	mkdir keep && cp r/.git/klineage/jobs/* keep/ && sed -i "s/\"policy\":[0-9]*/\"policy\":0/" r/.git/klineage/jobs/*.json &&
	(cd r && exits 128 git klineage gate --import ../away/a.results 2>../err) && says "have changed since" err &&
	cp keep/* r/.git/klineage/jobs/
'

test_expect_success 'a wrong answer outranks a right one that comes later' '
	reseal "\$j->{result}{status} = q(pass); \$j->{time} = q(2030-01-01T00:00:00Z); delete \$j->{result}{message};
		delete \$j->{result}{class}" w.results >right &&
	(cd r && git klineage gate --import ../right && exits 1 git klineage gate --runner bundle HEAD^)
'

test_expect_success 'the verdict of one device serves nobody who asks another' '
	(cd r && git klineage gate --runner bundle >../out) && says "judged before" out &&
	reseal "\$j->{device} = q(GPU B); \$j->{driver} = q(2)" w.results >wb && (cd r && git klineage gate --import ../wb) &&
	(cd r && exits 125 git klineage gate --runner bundle -o ../b.tar 2>../err) &&
	reseal "\$j->{device} = q(GPU B); \$j->{driver} = q(3)" away/a.results >ab &&
	(cd r && git klineage gate --import ../ab && git klineage gate --runner bundle --json >../event) &&
	test "$(member platform.device event)" = "GPU B" && test "$(member platform.driver event)" = 3 &&
	(cd r && git klineage gate --import ../w.results && git klineage gate --runner bundle --json >../event) &&
	test "$(member platform.device event)" != "GPU B"
'

# --- the worker ---------------------------------------------------------------------

test_expect_success 'a bundle that was changed, cut off or is none is refused before anything runs' '
	size=$(wc -c <a.tar) &&
	for at in 0 100 157 700 2000 14000 $((size - 3000)) $((size - 1)); do
		cp a.tar bad.tar && printf "\\377" | dd of=bad.tar bs=1 seek=$at conv=notrunc 2>/dev/null && ! cmp -s a.tar bad.tar &&
		exits 128 klineage-worker --bundle bad.tar -o never 2>err && says bundle err || return 1
	done &&
	for n in 0 511 5000 $((size - 512)); do
		head -c $n a.tar >bad.tar && exits 128 klineage-worker --bundle bad.tar -o never 2>err || return 1
	done &&
	mkdir evil && (cd evil && tar xf ../a.tar && ln -s /etc/passwd files/link && tar --format=ustar -cf ../bad.tar ./*) &&
	exits 128 klineage-worker --bundle bad.tar -o never 2>err &&
	exits 128 klineage-worker --bundle /dev/null -o never 2>err &&
	exits 128 klineage-worker --bundle away/a.results -o never 2>err &&
	exits 129 klineage-worker --bundle 2>err && exits 129 klineage-worker -o x 2>err &&
	test ! -e never
'

test_expect_success 'a worker goes on where one was killed, and leaves the results of others alone' '
	head -n 1 away/a.results >part && head -c 200 away/a.results | tail -c 60 >>part &&
	klineage-worker --bundle a.tar -o part 2>err && says "pass" err && (cd r && git klineage gate --import ../part) &&
	cp away/a.results whole && klineage-worker --bundle a.tar -o whole && test_cmp away/a.results whole &&
	cp away/a.results whole && exits 128 klineage-worker --bundle w.tar -o whole 2>err &&
	says "another bundle" err && test_cmp away/a.results whole &&
	echo mine >mine && exits 128 klineage-worker --bundle a.tar -o mine 2>err && says "not a results file" err &&
	test "$(cat mine)" = mine
'

test_expect_success 'from stdin to stdout' '
	klineage-worker --bundle - <a.tar 2>err >piped && (cd r && git klineage gate --import - <../piped) >out &&
	says "0 refused" out
'

test_expect_success 'a worker that dies on a job says so and does the next' '
	mkdir dying && cp "$KLINEAGE_BUILD/klineage-worker" dying/worker && cat >dying/wrap.sh <<-\X &&
		ulimit -v 60000; exec "$@"
	X
	sh dying/wrap.sh dying/worker --bundle a.tar -o dying/results 2>err; tail -n 1 dying/results | grep "\"end\":1" &&
	says "\"status\":\"cannot\"" dying/results && (cd r && exits 125 git klineage gate --import ../dying/results 2>../err)
'

# --- signatures ------------------------------------------------------------------------

command -v ssh-keygen >/dev/null && test_set_prereq KEYGEN
test_expect_success KEYGEN 'where signatures are required, only those of allowed signers are taken' '
	ssh-keygen -q -t ed25519 -N "" -C worker -f key && ssh-keygen -q -t ed25519 -N "" -C mallory -f other.key &&
	echo "worker@gpu $(cat key.pub)" >allowed &&
	git -C r config klineage.requireSigned true &&
	(cd r && exits 128 git klineage gate --import ../away/a.results 2>../err) && says "not signed" err && says "sign-key" err &&
	cp away/a.results signed && klineage-worker --bundle a.tar -o signed --sign-key key &&
	(cd r && exits 125 git klineage gate --import ../signed 2>../err) && says allowedSignersFile err &&
	git -C r config gpg.ssh.allowedSignersFile "$PWD/allowed" &&
	(cd r && git klineage gate --import ../signed) >out && says "signed by worker@gpu" out &&
	git -C r notes --ref=klineage/gate show HEAD >note && says "\"signer\":\"worker@gpu\"" note &&
	cp away/a.results forged && klineage-worker --bundle a.tar -o forged --sign-key other.key &&
	(cd r && exits 128 git klineage gate --import ../forged 2>../err) && says "the signer'\''s key is not in a list" err &&
	sed "s/\"worker\":\"/\"worker\":\"9/" signed >changed &&
	(cd r && exits 128 git klineage gate --import ../changed 2>../err) && says "signature" err &&
	git -C r config --unset klineage.requireSigned
'

test_expect_success KEYGEN 'klineage.sign: an event bears the signature of its id' '
	git -C r config klineage.sign true &&
	(cd r && exits 125 git klineage gate --runner bundle 2>../err) && says "user.signingKey is not set" err &&
	git -C r config user.signingKey "$PWD/key" && git -C r notes --ref=klineage/gate remove HEAD &&
	(cd r && git klineage gate --runner bundle) && git -C r notes --ref=klineage/gate show HEAD >note &&
	member sig note >sig && member id note | tr -d "\\n" >id &&
	ssh-keygen -Y verify -f allowed -I worker@gpu -n klineage-gate -s sig <id &&
	git -C r notes --ref=klineage/gate remove HEAD && (cd r && git klineage gate --import ../away/a.results) &&
	git -C r notes --ref=klineage/gate show HEAD | grep "\"sig\":" &&
	git -C r config klineage.sign false
'

# --- over ssh -------------------------------------------------------------------------

mkdir fake && cat >fake/ssh <<-\EOF && chmod +x fake/ssh
	#!/bin/sh
	# -o BatchMode=yes -o ServerAliveInterval=30 <host> <program> ...
	echo "$*" >>"$FAKE_LOG"
	shift 4
	case $1 in gone) echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255 ;; esac
	host=$1 && shift
	case $host in
	dies) sh -c "$*" | head -c 700; exit 255 ;;
	*) exec sh -c "$*" ;;
	esac
EOF
FAKE_LOG=$PWD/ssh.log
export FAKE_LOG

test_expect_success 'over ssh in one go' '
	(make_repo s) && cd s && PATH=$PWD/../fake:$PATH git klineage gate --runner ssh:gpu1 >../out && cd .. &&
	says "scale: pass" out && says parent out && says "gpu1 klineage-worker --bundle -" ssh.log &&
	git -C s notes --ref=klineage/gate show HEAD >note && test "$(member verdict note)" = pass &&
	: >ssh.log && (cd s && PATH=$PWD/../fake:$PATH git klineage gate --runner ssh:gpu1) && test ! -s ssh.log
'

test_expect_success 'a host that is away, that dies, that has no worker' '
	cd s && PATH=$PWD/../fake:$PATH && export PATH &&
	exits 125 git klineage gate --runner ssh:gone --no-note 2>../err && says "No route to host" ../err && says "run the same command" ../err &&
	exits 125 git klineage gate --runner ssh:dies --no-note 2>../err && says "connection to" ../err &&
	git config klineage.workerPath /nowhere/klineage-worker &&
	exits 125 git klineage gate --runner ssh:gpu2 --no-note 2>../err && says workerPath ../err &&
	git config klineage.workerPath "a; touch pwned" &&
	exits 128 git klineage gate --runner ssh:gpu2 --no-note 2>../err && says "invalid path" ../err && test ! -e pwned &&
	git config --unset klineage.workerPath && cd ..
'

test_expect_success 'hosts and runners that are none' '
	for h in "-oProxyCommand=x" "a b" "a;b" "" "a/b" "\$(x)"; do
		(cd s && exits 129 git klineage gate --runner "ssh:$h" 2>../err) || return 1
	done &&
	(cd s && exits 129 git klineage gate --runner slurm 2>../err) && says "ssh:<host>" err &&
	(cd s && exits 129 git klineage gate --runner bundle --seed 3 2>../err) &&
	(cd s && exits 129 git klineage gate --import x HEAD 2>../err) &&
	(cd s && exits 128 git klineage gate --import nowhere 2>../err)
'

test_done
