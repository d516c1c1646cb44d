#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/docs.sh - the figures of docs/cuda-*.md, from files that a run on a GPU left; nothing is typed.
#
#	docs.sh everything <logs>	docs/cuda-cheats.md and docs/cuda-host.md anew, of what everything.sh brought back: its
#					logs.tgz, or the directory of its output
#	docs.sh device <log>		the GPU, its driver, nvcc, the date: the first lines of a log of seconds.sh, or the
#					file "machine" of everything.sh
#	docs.sh seconds <log>		a table of it: seconds per candidate
#	docs.sh torch <json>		a table of what torchref.py wrote
#	docs.sh counters <events>	a table of the hardware counters in events, JSON Lines
#	docs.sh profile <file>...	a table of the profiles in results of a worker or in events, JSON Lines; a run is
#					called as its workload is, else as its file
#	docs.sh put <file> <name>	what comes on the standard input takes the place between the two lines
#					"<!-- <name> -->" and "<!-- end of <name> -->" of that file
# Needs perl.
here=$(cd "$(dirname "$0")" && pwd)
docs=${DOCS:-$here/../../docs} # where cuda-cheats.md and cuda-host.md are

die () {
	echo "docs.sh: $*" >&2
	exit 2
}

# shellcheck disable=SC2016 # perl has dollars of its own
device='
	my $date = $1 if /^(\d{4}-\d\d-\d\d)$/m;
	my ($gpu, $driver) = ($1, $2) if /^([^,\n]+), (?:GPU-[-0-9a-f]+, )?([0-9.]+)(?:,|$)/m;
	my $nvcc = $1 if /release [0-9.]+, V([0-9.]+)$/m;
	defined $_ or die "the log does not name its device\n" for $date, $gpu, $driver, $nvcc;
	print "$gpu, driver $driver, nvcc $nvcc, $date.\n";'

# shellcheck disable=SC2016
seconds='
	my (@row, %alone, @more);
	sub flush_row {
		my $r = shift @row or return;
		my $over = $r->{rc} == 124;
		my $more = () = $r->{states} =~ / /g;
		printf "| %s | %s | %s | %s | %s |\n", @$r{qw(name states)}, $over ? "-" : $r->{s},
			$over ? "did not end within $r->{s} s" : join(", ", @{$r->{verdict}}) || "exit code $r->{rc}",
			join(", ", @{$r->{time}}) || "-";
		$alone{$r->{name}} = $r->{s} if $r->{states} eq "last";
		push @more, sprintf("%s %.2f s", $r->{name}, ($r->{s} - $alone{$r->{name}}) / $more)
			if $more && !$over && $alone{$r->{name}};
	}
	print "| workload | candidates | seconds | verdicts | a call takes |\n| --- | --- | --- | --- | --- |\n";
	for (split /\n/) {
		if (/^\[\d+ s\] (\S+) (first|last(?: [ls]\d+)*): rc (\d+), ([0-9.]+) s$/) {
			flush_row();
			@row = ({ name => "cuda-$1", states => $2, rc => $3, s => $4, time => [], verdict => [] });
		} elsif (/^\[/) {
			flush_row();
		} elsif (@row && /^    (?:\S+: )?\S+: (pass|fail[-a-z ]*|inconclusive)  \(/) {
			push @{$row[0]{verdict}}, $1;
		} elsif (@row && /^      time +(\S+ \S+) /) {
			push @{$row[0]{time}}, $1;
		}
	}
	flush_row();
	print "\nWhat one more candidate takes in the same process, by these rows: ", join(", ", @more), ".\n" if @more;'

# shellcheck disable=SC2016
torch='
	my $d = decode_json($_);
	my $us = sub { my $n = shift; $n >= 1e5 ? sprintf("%.3f ms", $n / 1e6) : sprintf("%.1f µs", $n / 1e3) };
	print "PyTorch $d->{torch}, Triton $d->{triton}, cuDNN $d->{cudnn}.";
	my @absent = grep { ($d->{$_} // "") =~ /ModuleNotFoundError/ } qw(fla flashinfer flash_attn cutlass);
	print " Not there: @absent." if @absent;
	print "\n\n| reference | shape | behind a flush: median, 10 % and 90 % | of a graph, hot | Triton: do_bench |\n";
	print "| --- | --- | --- | --- | --- |\n";
	my $shape = "";
	for my $r (@{$d->{rows}}) {
		printf "| %s | %s | %s (%s to %s) | %s | %s |\n", $r->{what}, $r->{shape}, map { $us->($_) }
			@$r{qw(do_bench_ns p10 p90 hot_graph_ns triton_do_bench_ns)};
	}'

# shellcheck disable=SC2016
counters='
	print "| workload | kernel | below ncu | by the profile | DRAM read | DRAM written | of the DRAM peak | ",
		"L2 hits | L1 hits | occupancy, static |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
	my $pct = sub { defined $_[0] ? sprintf("%.1f %%", $_[0] / 1e4) : "-" };
	my $mb = sub { defined $_[0] ? sprintf("%.2f MB", $_[0] / 1e6) : "-" };
	my $n = 0;
	for (grep { /^\{/ } split /\n/) {
		my $e = decode_json($_);
		for my $l (@{$e->{counters}{launches} || []}) {
			my ($s) = grep { $_->{kernel} eq $l->{kernel} } @{$e->{static} || []};
			printf "| %s | %s | %.2f µs | %.2f µs | %s | %s | %s | %s | %s | %s |\n", $e->{workload},
				$l->{kernel}, $l->{ns} / 1e3, $e->{profile}{ns} / 1e3, $mb->($l->{dram_read}),
				$mb->($l->{dram_written}), $pct->($l->{dram_ppm}), $pct->($l->{l2_hit_ppm}),
				$pct->($l->{l1_hit_ppm}), $pct->($s->{occupancy_ppm});
			$n++;
		}
	}
	$n or die "no counters there\n";'

# shellcheck disable=SC2016
profile='
	my $us = sub { my $n = shift; $n >= 1e6 ? sprintf("%.3f ms", $n / 1e6) : sprintf("%.2f µs", $n / 1e3) };
	my $x = sub { sprintf("%.3fx [%.3f, %.3f]", map { $_ / 1e6 } @{$_[0]}{qw(ratio_ppm lo_ppm hi_ppm)}) };
	my $n = 0;
	print "| run | a call takes | itself, within | beside | its speed against that |\n| --- | --- | --- | --- | --- |\n";
	for my $file (@ARGV) {
		open my $f, "<", $file or die "cannot open $file\n";
		(my $name = $file) =~ s{.*/|\.[a-z]+$}{}g;
		while (<$f>) {
			next unless /^\{/;
			my $d = decode_json($_);
			my $p = ($d->{result} || $d)->{profile} or next;
			for my $at (@{$p->{points} || [$p]}) {
				my ($aa) = $at->{aa} ? sort { $b <=> $a } $at->{aa}{hi_ppm} - 1e6, 1e6 - $at->{aa}{lo_ppm} : $at->{aa_ppm};
				for my $v (grep { $_->{what} ne "parent" } @{$at->{vs}}) {
					printf "| %s | %s | %.2f %% | %s | %s |\n", $d->{workload} // $name, $us->($at->{ns}),
						$aa / 1e4, join(", ", grep { defined } @$v{qw(what library)}), $x->($v);
					$n++;
				}
			}
		}
	}
	$n or die "no profile there\n";'

put () {
	test -f "$1" || die "no file '$1'"
	NAME=$2 perl -0777 -i -pe '
		BEGIN { local $/; $new = <STDIN>; length $new or die "docs.sh: nothing to put\n" }
		my $n = quotemeta $ENV{NAME};
		s/(<!-- $n -->\n).*?(<!-- end of $n -->\n)/$1\n$new\n$2/s or die "docs.sh: no place for $ENV{NAME}\n"' "$1"
}

# specimens <table> <page> <name>: put a table of cheats.sh, in which each kernel has a verdict, on its page
specimens () {
	test -s "$1" || die "no table of $3: that part of everything.sh was not run"
	! grep -q '^| [^|]* | [^|]* | - |' "$1" || die "some kernels of $3 have no verdict: that part did not end"
	perl -0777 -ne "$device" "$logs/machine" >"$work/device" && put "$docs/$2" device <"$work/device" &&
		put "$docs/$2" "$3" <"$1"
}

everything () {
	work=$(mktemp -d) || exit 2
	trap 'rm -rf "$work"' EXIT
	logs=$1
	test -d "$logs" || { logs=$work && tar xzf "$1" -C "$work"; } || die "'$1' is no output of everything.sh"
	specimens "$logs/cuda" cuda-cheats.md cheats && specimens "$logs/cuda-host" cuda-host.md host
}

what=$1
test -n "$2" || die "usage: docs.sh everything <logs>, docs.sh device|seconds|torch|counters|profile <file>, docs.sh put <file> <name>"
case $what in
everything) everything "$2" ;;
device) perl -0777 -ne "$device" "$2" ;;
seconds) perl -0777 -ne "$seconds" "$2" ;;
torch) perl -MJSON::PP -0777 -ne "$torch" "$2" ;;
counters) perl -MJSON::PP -0777 -ne "$counters" "$2" ;;
profile) shift && perl -MJSON::PP -e "$profile" "$@" ;;
put) put "$2" "$3" ;;
*) die "no figures called '$what'" ;;
esac
