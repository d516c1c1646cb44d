/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_card_corpus - some twenty-five thousand expressions of both dialects, valid and not, with
 * the answers that the two former parsers gave: accepted or the byte that is wrong, values,
 * answers, keys, relations. A row of the table holds a digest of those of one kind.
 *
 *	test_card_corpus lines		each with its answers, for diff(1) between two builds
 */
#include "test.h"

#include "base/rng.h"
#include "base/sha256.h"
#include "card/predicate.h"
#include "plan/expr.h"

/* Hides the function of its name where names are closed. */
#define HIDING "max"

static const char *const dims[] = { "M", "N", "K", "zero", "big", HIDING };
static const struct kl_expr_names dim_names = { .name = dims, .n = KL_ARRAY_SIZE(dims) };
static const int64_t points[][KL_ARRAY_SIZE(dims)] = {
	{ 7, 3, 1024, 0, INT64_MAX, 5 },
	{ -7, 2, 1, 0, INT64_MIN, -1 },
	{ 0, 1, 64, 0, 4611686018427387904, 2 },
	{ 128, 128, 4096, 0, 3, 0 },
};

/* --- texts -------------------------------------------------------------------------------- */

/*
 * xoshiro256**, seeded by splitmix64: the digests below were made of the sentences that it draws, so
 * it stays what it was.
 */
struct draws {
	uint64_t s[4];
};

static void draws_seed(struct draws *draws, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		draws->s[i] = kl_rng_mix(seed += 0x9e3779b97f4a7c15u);
}

static uint64_t rotate_left(uint64_t bits, int n)
{
	return bits << n | bits >> (64 - n);
}

static uint64_t draws_next(struct draws *draws)
{
	uint64_t *state = draws->s;
	uint64_t out = rotate_left(state[1] * 5, 7) * 9;
	uint64_t shifted = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = rotate_left(state[3], 45);
	return out;
}

static uint64_t draws_below(struct draws *draws, uint64_t n)
{
	uint64_t limit = -n % n, draw;

	do
		draw = draws_next(draws);
	while (draw < limit);
	return draw % n;
}

struct writer {
	struct draws draws;
	bool facts; /* the dialect of predicates */
	bool loose; /* whatever stands where it should not */
	struct kl_buf out;
};

static size_t one_of(struct writer *writer, size_t n)
{
	return (size_t)draws_below(&writer->draws, n);
}

#define WRITE_ONE_OF(w, list) kl_buf_adds(&(w)->out, (list)[one_of((w), KL_ARRAY_SIZE(list))])

static void write_blank(struct writer *writer)
{
	static const char *const blanks[] = { "", "", "", " ", " ", "  ", "\t" };

	WRITE_ONE_OF(writer, blanks);
	if (writer->facts && !one_of(writer, 40))
		kl_buf_addch(&writer->out, '\n');
}

static void write_name(struct writer *writer)
{
	static const char *const facts[] = {
		"M",
		"K",
		"zero",
		"big",
		"dtype",
		"sol.dram",
		"unknown",
		"tiled",
		"min",
		"a.b.c",
		"extent(reduction)",
		"stride_bytes(A,K)",
		"stride_bytes( A , 'K' )",
		"align(B)",
	};

	if (writer->facts)
		WRITE_ONE_OF(writer, facts);
	else
		WRITE_ONE_OF(writer, dims);
}

static void write_literal(struct writer *writer)
{
	static const char *const edges[] = {
		"0", "1", "2", "007", "64", "4096", "4611686018427387904", "9223372036854775807",
	};

	if (one_of(writer, 3))
		kl_buf_addf(&writer->out, "%d", (int)one_of(writer, 9));
	else
		WRITE_ONE_OF(writer, edges);
	if (writer->facts && !one_of(writer, 8))
		kl_buf_addf(&writer->out, ".%d", (int)one_of(writer, 1000));
}

static void write_condition(struct writer *writer, int depth);
static void write_number(struct writer *writer, int depth);

static void write_call(struct writer *writer, int depth)
{
	static const char *const names[] = { "min", "cdiv", "max" };

	kl_buf_adds(&writer->out, names[one_of(writer, writer->facts || writer->loose ? 3 : 2)]);
	if (!writer->facts || writer->loose)
		write_blank(writer);
	kl_buf_addch(&writer->out, '(');
	write_number(writer, depth - 1);
	kl_buf_addch(&writer->out, ',');
	write_number(writer, depth - 1);
	kl_buf_addch(&writer->out, ')');
}

static void write_number(struct writer *writer, int depth)
{
	static const char *const signs[] = { "+", "-", "*", "/", "%", "+", "-", "*" };
	size_t kind = depth <= 0 ? one_of(writer, 2) : one_of(writer, 9);

	write_blank(writer);
	if (writer->loose && !one_of(writer, 25)) {
		write_condition(writer, depth - 1);
	} else if (kind == 0) {
		write_literal(writer);
	} else if (kind == 1) {
		write_name(writer);
	} else if (kind == 2) {
		kl_buf_addch(&writer->out, '-');
		write_number(writer, depth - 1);
	} else if (kind == 3) {
		write_call(writer, depth);
	} else if (kind == 4) {
		kl_buf_addch(&writer->out, '(');
		write_number(writer, depth - 1);
		kl_buf_addch(&writer->out, ')');
	} else {
		write_number(writer, depth - 1);
		write_blank(writer);
		WRITE_ONE_OF(writer, signs);
		write_number(writer, depth - 1);
	}
	write_blank(writer);
}

static void write_fact(struct writer *writer)
{
	static const char *const facts[] = {
		"cap('cp.async')",        "cap(tma.load)",         "has('ldg.128')",
		"has( wgmma )",           "trait('tiled')",        "deterministic",
		"dtype == 'f16'",         "'bf16' != dtype",       "op == 'gemm'",
		"sol.dram < 0.7",         "dtype == 'a_b.c:*+/-'", "cap('x')",
		"deterministic == fused", "sol.dram * 2 >= 1.5",
	};

	WRITE_ONE_OF(writer, facts);
}

static void write_condition(struct writer *writer, int depth)
{
	static const char *const compares[] = { "==", "!=", "<", "<=", ">", ">=" };
	size_t kind = depth <= 0 ? 0 : one_of(writer, 7);

	write_blank(writer);
	if (writer->loose && !one_of(writer, 25)) {
		write_number(writer, depth - 1);
	} else if (writer->facts && !one_of(writer, 4)) {
		write_fact(writer);
	} else if (kind < 2) {
		write_number(writer, depth > 2 ? 2 : depth);
		WRITE_ONE_OF(writer, compares);
		write_number(writer, depth > 2 ? 2 : depth);
		if (writer->loose && !one_of(writer, 12)) {
			WRITE_ONE_OF(writer, compares);
			write_number(writer, 0);
		}
	} else if (kind == 2) {
		kl_buf_adds(&writer->out, "!");
		write_condition(writer, depth - 1);
	} else if (kind == 3) {
		kl_buf_addch(&writer->out, '(');
		write_condition(writer, depth - 1);
		kl_buf_addch(&writer->out, ')');
	} else {
		write_condition(writer, depth - 1);
		kl_buf_adds(&writer->out, one_of(writer, 2) ? "&&" : "||");
		write_condition(writer, depth - 1);
	}
	write_blank(writer);
}

static void write_any(struct writer *writer)
{
	int depth = (int)one_of(writer, 5) + 1;

	if (!writer->facts && one_of(writer, 2))
		write_number(writer, depth);
	else
		write_condition(writer, depth);
}

static void write_loose(struct writer *writer)
{
	writer->loose = true;
	write_any(writer);
	writer->loose = false;
}

/* One to three bytes of a good one are others, more, or gone. */
static void write_damaged(struct writer *writer)
{
	static const char bytes[] = "()+-*/%<>=!&|,.'_ \t\n0159MKax#\"[\x01\x80\xff";

	write_any(writer);
	for (size_t i = one_of(writer, 3) + 1; i > 0 && writer->out.len; i--) {
		size_t at = one_of(writer, writer->out.len);
		char byte = bytes[one_of(writer, sizeof(bytes) - 1)];

		switch (one_of(writer, 4)) {
		case 0:
			writer->out.ptr[at] = byte;
			break;
		case 1:
			writer->out.ptr[writer->out.len = at] = '\0';
			break;
		case 2:
			kl_buf_addch(&writer->out, byte);
			break;
		default:
			memmove(writer->out.ptr + at, writer->out.ptr + at + 1,
				writer->out.len - at);
			writer->out.len--;
		}
	}
}

static void write_soup(struct writer *writer)
{
	static const char *const tokens[] = {
		"M",
		"K",
		"max",
		"min",
		"min(",
		"cdiv(",
		"(",
		")",
		",",
		"+",
		"-",
		"*",
		"/",
		"%",
		"==",
		"!=",
		"<",
		"<=",
		">",
		">=",
		"&&",
		"||",
		"!",
		"1",
		"0",
		"2.5",
		"0.1234567",
		"99999999999999999999",
		"9223372036854775807.5",
		"3x",
		"'f16'",
		"''",
		"'a b'",
		"'x",
		"cap(",
		"cap('x')",
		"has(a,b)",
		"trait()",
		"f(",
		"a.b",
		"a.",
		".",
		"_",
		"dtype",
		"=",
		"&",
		"|",
		"$",
		"extent(r)",
		" ",
	};

	for (size_t i = one_of(writer, 12) + 1; i > 0; i--) {
		WRITE_ONE_OF(writer, tokens);
		write_blank(writer);
	}
}

/* Around the limits of depth: brackets, signs and operands nest each at its own price. */
static void write_deep(struct writer *writer)
{
	static const char *const open[] = {
		"(", "-", "!", "- -", "!(", "-(", "1+(", "K*-(", "min(1,", "M<1||(",
	};
	const char *only = open[one_of(writer, KL_ARRAY_SIZE(open))];
	bool mixed = !one_of(writer, 2);
	size_t depth = one_of(writer, one_of(writer, 4) ? 36 : 220) + 1, brackets = 0;

	for (size_t i = 0; i < depth; i++) {
		const char *part = mixed ? open[one_of(writer, KL_ARRAY_SIZE(open))] : only;

		kl_buf_adds(&writer->out, part);
		if (!one_of(writer, 10))
			write_blank(writer);
		brackets += strchr(part, '(') != NULL;
	}
	kl_buf_adds(&writer->out, one_of(writer, 2) ? "K" : "K==1");
	for (size_t i = one_of(writer, 12) != 0 ? 0 : 1; i < brackets; i++)
		kl_buf_addch(&writer->out, ')');
	if (one_of(writer, 2))
		kl_buf_adds(&writer->out, "<2");
}

/* Some bytes below the limit of length, or above it. */
static void write_long(struct writer *writer)
{
	size_t len = (writer->facts ? KL_PREDICATE_MAX_TEXT : KL_EXPR_MAX_TEXT) - 4 +
		     one_of(writer, 9);

	kl_buf_adds(&writer->out, "K == 1");
	while (writer->out.len < len - 6)
		kl_buf_adds(&writer->out, one_of(writer, 2) ? "+1" : "*K");
	while (writer->out.len < len)
		kl_buf_addch(&writer->out, ' ');
}

/* Small predicates with few names, so that one may follow from another. */
static void write_alike(struct writer *writer)
{
	static const char *const forms[] = {
		"a >= %d",        "a < %d",        "%d <= b",       "a == %d",    "a != %d",
		"a %% %d == 0",   "b > %d.5",      "-%d < b",       "cap('x%d')", "dtype == 'f%d'",
		"dtype != 'f%d'", "a*b + %d <= c", "%d + b*a <= c",
	};
	size_t parts = one_of(writer, 3) + 1;

	for (size_t i = 0; i < parts; i++) {
		const char *form = forms[one_of(writer, KL_ARRAY_SIZE(forms))];
		bool turned = !one_of(writer, 8);
		int n = (int)one_of(writer, 4) + 1;

		if (i)
			kl_buf_adds(&writer->out, one_of(writer, 3) ? " && " : " || ");
		kl_buf_adds(&writer->out, turned ? "!(" : "");
		kl_buf_addf(&writer->out, form, n);
		kl_buf_adds(&writer->out, turned ? ")" : "");
	}
}

/* --- answers ------------------------------------------------------------------------------- */

/* '!=' where a value should stand is one wrong sign, whichever of its bytes is named. */
static size_t wrong_place(const char *text, size_t at)
{
	return at > 0 && text[at] == '=' && text[at - 1] == '!' ? at - 1 : at;
}

static bool answer_exactly(struct kl_buf *out, const char *text, enum kl_expr_type want)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	bool used[KL_ARRAY_SIZE(dims)] = { false };
	size_t at = 9999;

	if (kl_expr_parse(&expr, text, &dim_names, want, &at) < 0) {
		kl_buf_addf(out, " @%zu", wrong_place(text, at));
		return false;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(points); i++) {
		int64_t value;

		if (!kl_expr_eval(&value, expr, points[i]))
			kl_buf_addf(out, " %lld", (long long)value);
		else
			kl_buf_adds(out, strstr(kl_error_last(), "overflow") ? " over" : " zero");
	}
	kl_expr_uses(expr, used);
	for (size_t i = 0; i < KL_ARRAY_SIZE(used); i++)
		kl_buf_adds(out, used[i] ? " 1" : " 0");
	return true;
}

static void know_some(struct kl_known *known, size_t much)
{
	if (much > 0) {
		kl_known_int(known, "K", 64);
		kl_known_int(known, "zero", 0);
		kl_known_text(known, "dtype", "f16");
		kl_known_member(known, "cap", "cp.async");
		kl_known_truth(known, "trait(tiled)", KL_FALSE);
	}
	if (much > 1) {
		kl_known_int(known, "M", -3);
		kl_known_int(known, "big", INT64_MAX);
		kl_known_ratio(known, "sol.dram", 700000);
		kl_known_int(known, "extent(reduction)", 100);
		kl_known_int(known, "stride_bytes(A,K)", 8192);
		kl_known_truth(known, "deterministic", KL_TRUE);
		kl_known_truth(known, "fused", KL_FALSE);
		kl_known_text(known, "op", "gemm");
		kl_known_close(known, "cap");
	}
	if (much > 2) {
		kl_known_int(known, "big", INT64_MIN);
		kl_known_text(known, "K", "f16");
		kl_known_int(known, "dtype", 1);
		kl_known_truth(known, "M", KL_TRUE);
		kl_known_ratio(known, "min", -1500000);
		kl_known_int(known, "deterministic", 1);
	}
}

static void answer_relation(struct kl_buf *out, struct kl_predicate *old, struct kl_predicate *now)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lost = KL_STRVEC_INIT;

	kl_buf_addf(out, " %d", old ? (int)kl_predicate_relation(old, now, &lost) : -1);
	for (size_t i = 0; i < lost.n; i++)
		kl_buf_addf(out, " [%s]", lost.v[i]);
}

/* `*last` is the predicate before this one, and then this one. */
static bool answer_openly(struct kl_buf *out, const char *text, struct kl_predicate **last)
{
	struct kl_predicate *predicate = NULL;
	size_t at = 9999;

	if (kl_predicate_parse(&predicate, text, &at) < 0) {
		kl_buf_addf(out, " @%zu", wrong_place(text, at));
		return false;
	}
	for (size_t much = 0; much < 4; much++) {
		KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;

		know_some(&known, much);
		kl_buf_addf(out, " %s ", kl_truth_name(kl_predicate_eval(predicate, &known)));
		if (much == 2)
			kl_predicate_explain(out, predicate, &known);
	}
	answer_relation(out, *last, predicate);
	kl_predicate_free(*last);
	*last = predicate;
	return true;
}

/* --- the table ------------------------------------------------------------------------------ */

static const struct row {
	const char *kind;
	void (*write)(struct writer *w);
	bool facts;
	size_t n;
	size_t accepted;    /* where names are closed: as a number, and again as a condition */
	const char *digest; /* the first half of its SHA-256 */
} rows[] = {
	{ "good", write_any, false, 3000, 2508, "4fdcde2b50135da0be823c89f7cab474" },
	{ "loose", write_loose, false, 2500, 1459, "4dfcbdec447398e573988b7eaeb52432" },
	{ "damaged", write_damaged, false, 3000, 377, "622863eb0510490c9a096d2454ae890a" },
	{ "soup", write_soup, false, 3000, 22, "210f2a430a74c792df66f8eaf29ea94a" },
	{ "deep", write_deep, false, 800, 93, "14c2940af4ebd84dc4038e19de29980d" },
	{ "long", write_long, false, 50, 25, "99273bd85d4b92e30cc586cc62dad543" },
	{ "good", write_any, true, 3000, 2494, "fea6d03a531222c1fefb6de3be1634e0" },
	{ "loose", write_loose, true, 2500, 1445, "64b19e3e0a944f24683c4f8a3c291557" },
	{ "damaged", write_damaged, true, 3000, 598, "b783ecf3b7afaee2477a9d688551e62b" },
	{ "soup", write_soup, true, 3000, 54, "fe91557a2dd7a25695d080bacf9735dd" },
	{ "deep", write_deep, true, 800, 101, "bff267036c6a0acfa7a0b47fa0a46d00" },
	{ "long", write_long, true, 50, 23, "99d90a3a95e48a9b88ed85a45d171755" },
	{ "alike", write_alike, true, 2000, 2000, "5ace59a3a27f3aa1526e1284880a2e86" },
};

static size_t answer_row(struct kl_buf *out, size_t index)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *last = NULL;
	const struct row *row = &rows[index];
	struct writer writer = { .facts = row->facts, .out = KL_BUF_INIT };
	size_t accepted = 0;

	draws_seed(&writer.draws, 1000 + index);
	for (size_t i = 0; i < row->n; i++) {
		kl_buf_clear(&writer.out);
		row->write(&writer);
		kl_buf_addf(out, "%s %s:", row->kind, writer.out.ptr);
		if (row->facts) {
			accepted += answer_openly(out, writer.out.ptr, &last);
		} else {
			accepted += answer_exactly(out, writer.out.ptr, KL_EXPR_NUMBER);
			accepted += answer_exactly(out, writer.out.ptr, KL_EXPR_TRUTH);
		}
		kl_buf_addch(out, '\n');
	}
	kl_buf_release(&writer.out);
	kl_error_clear();
	return accepted;
}

static void answers_as_ever(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
		size_t accepted = answer_row(&lines, i);
		char digest[KL_SHA256_HEX];

		kl_sha256_hex(digest, lines.ptr, lines.len);
		digest[32] = '\0';
		if (accepted != rows[i].accepted || strcmp(digest, rows[i].digest))
			fail_msg("%s of the %s dialect: %zu of %zu accepted, %s", rows[i].kind,
				 rows[i].facts ? "open" : "closed", accepted, rows[i].n, digest);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(answers_as_ever) };

	if (argc != 2 || strcmp(argv[1], "lines"))
		return cmocka_run_group_tests_name("card_corpus", tests, NULL, NULL);
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;

		answer_row(&lines, i);
		fwrite(lines.ptr, 1, lines.len, stdout);
	}
	return 0;
}
