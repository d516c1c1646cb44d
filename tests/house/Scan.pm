# SPDX-License-Identifier: Apache-2.0
#
# Scan - finds the comments, includes, functions and file-scope variables of a C file, without a
# compiler. It works on tokens, so the result does not depend on the format of the file, except for
# numbers of lines.
package Scan;
use strict;
use warnings;

my %CONTROL = map { $_ => 1 } qw(if for while switch);

# Return the tokens of $text as [text, line], where line is the one the token begins on. A
# preprocessor directive is one token that begins with '#'. The lines that comments cover are added
# to %$comments.
sub tokens
{
	my ($text, $comments) = @_;
	my @token;
	my $line = 1;
	my $fresh = 1;		# no token on this line so far

	pos($text) = 0;
	while (pos($text) < length $text) {
		if ($text =~ /\G[ \t\r\f]+/gc) {
			next;
		} elsif ($text =~ /\G\n/gc) {
			$line++;
			$fresh = 1;
			next;
		} elsif ($text =~ m{\G(/\*.*?(?:\*/|\z)|//(?:\\\n|[^\n])*)}gcs) {
			my $comment = $1;
			my $end = $line + ($comment =~ tr/\n//);
			$comments->{$_} = 1 for $line .. $end;
			$line = $end;
			next;
		}
		my $at = $line;
		if ($fresh && $text =~ m{\G(\#(?:\\\n|/\*.*?\*/|(?!/\*|//)[^\n])*)}gcs) {
			push @token, [$1, $at];
		} elsif ($text =~ /\G("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)/gcs) {
			push @token, [$1, $at];
		} elsif ($text =~ /\G([A-Za-z_\$][\w\$]*|[0-9.][\w.]*)/gc) {
			push @token, [$1, $at];
		} elsif ($text =~ /\G(.)/gcs) {
			push @token, [$1, $at];
		}
		$line += ($token[-1][0] =~ tr/\n//);
		$fresh = 0;
	}
	return \@token;
}

# Return the index after the bracket that closes the one at $i.
sub matching
{
	my ($token, $i) = @_;
	my $depth = 0;

	for (; $i < @$token; $i++) {
		my $t = $token->[$i][0];
		if ($t eq '(' || $t eq '[' || $t eq '{') {
			$depth++;
		} elsif ($t eq ')' || $t eq ']' || $t eq '}') {
			return $i + 1 if --$depth <= 0;
		}
	}
	return $i;
}

# Return the index after the statement that begins at $i. $depth is the number of control statements
# around it; $$most is raised to the deepest nesting found. A chain of else-if is one level, as is a
# macro that loops.
sub statement
{
	my ($token, $i, $depth, $most) = @_;
	my $t = $i < @$token ? $token->[$i][0] : '';
	my $then = $i + 1 < @$token ? $token->[$i + 1][0] : '';

	$$most = $depth if $depth > $$most;
	if ($t eq '{') {
		$i++;
		while ($i < @$token && $token->[$i][0] ne '}') {
			$i = statement($token, $i, $depth, $most);
		}
		return $i + 1;
	}
	if ($t eq 'do') {
		$i = statement($token, $i + 1, $depth + 1, $most);
		$i++ if $i < @$token && $token->[$i][0] eq 'while';
		$i = matching($token, $i);
		return $i < @$token && $token->[$i][0] eq ';' ? $i + 1 : $i;
	}
	if ($t eq 'case' || $t eq 'default') {
		$i++ while $i < @$token && $token->[$i][0] !~ /^[:;{}]$/;
		return $i < @$token && $token->[$i][0] eq ':' ? $i + 1 : $i;
	}
	if ($then eq '(' && $t =~ /^[A-Za-z_]/ && $t !~ /^(?:return|sizeof)$/) {
		my $after = matching($token, $i + 1);
		my $next = $after < @$token ? $token->[$after][0] : ';';

		if ($CONTROL{$t} || $next eq '{' || $next =~ /^[A-Za-z_]/) {
			$i = statement($token, $after, $depth + 1, $most);
			return $i if $t ne 'if' || $i >= @$token || $token->[$i][0] ne 'else';
			my $chain = $i + 1 < @$token && $token->[$i + 1][0] eq 'if';
			return statement($token, $i + 1, $chain ? $depth : $depth + 1, $most);
		}
	}
	return $i + 2 if $then eq ':' && $t =~ /^[A-Za-z_]/;	# a label
	while ($i < @$token && $token->[$i][0] ne ';') {
		last if $token->[$i][0] eq '}';
		$i = $token->[$i][0] =~ /^[(\[{]$/ ? matching($token, $i) : $i + 1;
	}
	return $i < @$token && $token->[$i][0] eq ';' ? $i + 1 : $i;
}

sub parameters
{
	my ($token, $from, $to) = @_;
	my ($depth, $commas) = (0, 0);
	my @inner = @$token[$from + 1 .. $to - 2];

	return 0 if !@inner || (@inner == 1 && $inner[0][0] eq 'void');
	for (@inner) {
		$depth++ if $_->[0] =~ /^[(\[{]$/;
		$depth-- if $_->[0] =~ /^[)\]}]$/;
		$commas++ if $_->[0] eq ',' && !$depth;
	}
	return $commas + 1;
}

# If the tokens from $from to the file-level '{' at $brace are the head of a function, return its
# name and the indices of its parentheses; otherwise return nothing.
sub function_head
{
	my ($token, $from, $brace) = @_;
	my ($name, $open, $close);

	for (my $i = $from; $i < $brace; $i++) {
		my $t = $token->[$i][0];
		return if $t eq '=';
		next if $t ne '(';
		my $after = matching($token, $i);
		if (!defined $name && $i > $from && $token->[$i - 1][0] =~ /^[A-Za-z_]/ &&
		    $token->[$i - 1][0] !~ /^(?:__attribute__|__declspec|_Alignas)$/) {
			($name, $open, $close) = ($token->[$i - 1][0], $i, $after);
		}
		$i = $after - 1;
	}
	return if !defined $name || $name =~ /^(?:struct|union|enum)$/;
	return if $token->[$brace - 1][0] ne ')' && $token->[$brace - 1][0] !~ /^[A-Za-z_;]/;
	return ($name, $open, $close);
}

# True if the variable of a declarator is not const. $base is the type in front of the declarator.
sub is_writable
{
	my ($base, $declarator) = @_;

	$declarator =~ s/ ?\[.*//;
	return $declarator !~ /\*[^*]*\bconst\b[^*]*$/ if $declarator =~ /\*/;
	return $base !~ /\bconst(?:expr)?\b/;
}

# True if a file-level declaration, given as words without its initializer, defines a variable that
# is not const. A word '{}' stands for a pair of braces and their contents.
sub is_variable
{
	my (@word) = @_;
	my $text = join ' ', @word;

	return 0 if @word < 2 || $text =~ /^(?:typedef|extern|_Static_assert|static_assert)\b/;
	# the definition of a type; a prototype, or the use of a macro
	return 0 if $word[-1] eq '{}' || (@word == 2 && $word[0] =~ /^(?:struct|union|enum)$/);
	return 0 if $text =~ /\(/ && $text !~ /^[^(]*\( \*/;
	my ($first, @more) = split /,(?![^(\[]*[)\]])/, $text;
	my ($base, $declarator) = $first =~ /^([^*(]*?)((?:[*(].*|\w+ ?(?:\[.*)?))$/;
	return 0 if !defined $base;
	return scalar grep { is_writable($base, $_) } $declarator, @more;
}

# Scan a file and return a hash: path; the numbers of all lines (lines), of those that are not blank
# (full_lines), of those with only a comment (comment_lines) and of those wider than 80 and 100
# columns (wide80, wide100); the lists includes, functions, variables (not const) and tokens; the
# number of gotos. A function has name, file_static, lines, parameters and nesting.
sub file
{
	my ($path) = @_;
	open my $in, '<', $path or die "house: cannot open '$path': $!\n";
	local $/;
	my $text = <$in> // '';
	my %comments;
	my $token = tokens($text, \%comments);
	my %f = (path => $path, lines => ($text =~ tr/\n//), full_lines => 0, comment_lines => 0,
		 includes => [], functions => [], variables => [], gotos => 0, wide80 => 0,
		 wide100 => 0);

	delete $comments{$_->[1]} for @$token;
	$f{comment_lines} = keys %comments;

	for my $line (split /\n/, $text) {
		1 while $line =~ s/\t/' ' x (8 - $-[0] % 8)/e;
		$f{full_lines}++ if $line =~ /\S/;
		$f{wide80}++ if length $line > 80;
		$f{wide100}++ if length $line > 100;
	}
	for (@$token) {
		push @{$f{includes}}, $1 if $_->[0] =~ /^#[ \t]*include[ \t]*(["<][^">]+)/;
	}
	$f{tokens} = plain($token);
	declarations(\%f);
	$f{gotos} = grep { $_->[0] eq 'goto' } @{$f{tokens}};
	return \%f;
}

# Return the tokens without directives. Inside braces, only the first branch of an #if is kept.
sub plain
{
	my ($token) = @_;
	my (@out, @if);
	my $depth = 0;

	for my $t (@$token) {
		my $word = $t->[0];
		if ($word =~ /^#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b/) {
			if ($1 =~ /^if/) {
				push @if, { depth => $depth, skip => 0 };
			} elsif ($1 eq 'endif') {
				pop @if;
			} elsif (@if) {
				$if[-1]{skip} = 1 if $if[-1]{depth} > 0;
				$depth = $if[-1]{depth};
			}
			next;
		}
		next if $word =~ /^#/ || grep { $_->{skip} } @if;
		$depth++ if $word eq '{';
		$depth-- if $word eq '}' && $depth > 0;
		push @out, $t;
	}
	return \@out;
}

sub declarations
{
	my ($f) = @_;
	my $token = $f->{tokens};
	my $from = 0;
	my $i = 0;
	my @head;	# words of the current declaration; '{}' stands for braces

	while ($i < @$token) {
		my $t = $token->[$i][0];
		if ($t eq '{') {
			if (@head == 2 && $head[0] eq 'extern' && $head[1] =~ /^"/) {
				($i, $from) = ($i + 1, $i + 1);
				@head = ();
				next;
			}
			my ($name, $open, $close) = function_head($token, $from, $i);
			my $after = matching($token, $i);
			if (defined $name) {
				add_function($f, $from, $i, $after, $name, $open, $close);
				$from = $after;
				@head = ();
			} else {
				push @head, '{}';
			}
			$i = $after;
		} elsif ($t eq ';' || $t eq '}') {
			# in a header this can be a function declared by a typedef, unless static
			push @{$f->{variables}}, join ' ', @head
				if is_variable(@head) && ($f->{path} !~ /\.h$/ || $head[0] eq 'static');
			@head = ();
			$from = ++$i;
		} elsif ($t eq '=') {
			push @{$f->{variables}}, join ' ', @head if is_variable(@head);
			while ($i < @$token && $token->[$i][0] ne ';') {
				$i = $token->[$i][0] =~ /^[(\[{]$/ ? matching($token, $i) : $i + 1;
			}
			@head = ();
			$from = ++$i;
		} else {
			push @head, $t;
			$i++;
		}
	}
}

sub add_function
{
	my ($f, $from, $brace, $after, $name, $open, $close) = @_;
	my $token = $f->{tokens};
	my @body = @$token[$brace .. $after - 1];
	my $most = 0;

	statement(\@body, 0, 0, \$most);
	push @{$f->{functions}}, {
		name => $name,
		file_static => scalar(grep { $_->[0] eq 'static' } @$token[$from .. $open]),
		lines => $token->[$after - 1][1] - $token->[$from][1] + 1,
		parameters => parameters($token, $open, $close),
		nesting => $most,
	};
}

1;
