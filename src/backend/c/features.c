/* SPDX-License-Identifier: Apache-2.0 */
/* features - features of a kernel in C, read from its instructions */
#include <elf.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/audit.h"
#include "backend/c/code.h"
#include "base/map.h"

/*
 * What single instructions show. Patterns match the mnemonic without the
 * leading v of its VEX and EVEX forms; `vec` tells whether vector registers
 * must, must not or may be named (pextrd is a shuffle, pext is not).
 */
enum vec { VEC_ANY, VEC_YES, VEC_NO };
/* clang-format off */
static const struct { const char *feature; enum vec vec; const char *patterns; } by_insn[] = {
	{ "fma.scalar", VEC_YES, "fmadd*s[sd] fmsub*s[sd] fnmadd*s[sd] fnmsub*s[sd]" },
	{ "avx2.fma", VEC_YES,
	  "fmadd*p[sd] fmsub*p[sd] fnmadd*p[sd] fnmsub*p[sd] fmaddsub*p[sd] fmsubadd*p[sd]" },
	{ "gather", VEC_YES, "gather* pgather*" },
	{ "scatter", VEC_YES, "scatter* pscatter*" },
	{ "prefetch", VEC_ANY, "prefetch*" },
	{ "nt-store", VEC_ANY,
	  "movntps movntpd movntdq movnti movntil movntiq movntss movntsd movntq" },
	{ "nt-load", VEC_YES, "movntdqa" },
	{ "shuffle", VEC_YES,
	  "shuf* unpck* punpck* perm* pshuf[bdhl]* palignr align[dq] insert[fi]* extract[fi]* "
	  "insertps extractps pinsr[bwdq] pextr[bwdq] movhlps movlhps movddup movsldup movshdup "
	  "pslldq psrldq pack[su]s*" },
	{ "compress", VEC_YES, "compressp[sd] pcompress[bwdq] expandp[sd] pexpand[bwdq]" },
	{ "broadcast", VEC_YES, "broadcast* pbroadcast*" },
	{ "movmask", VEC_YES, "movmskp[sd] pmovmskb" },
	{ "blend", VEC_YES, "blend* pblend*" },
	{ "masked", VEC_YES, "maskmov* pmaskmov*" },
	{ "popcnt", VEC_ANY, "popcnt*" },
	{ "bmi", VEC_NO,
	  "pext pext[lq] pdep pdep[lq] tzcnt tzcnt[wlq] lzcnt lzcnt[wlq] blsi blsi[lq] blsr "
	  "blsr[lq] blsmsk blsmsk[lq]" },
	{ "div", VEC_YES, "divss divsd divps divpd" },
	{ "idiv", VEC_NO, "idiv idiv[bwlq] div div[bwlq]" },
	{ "sqrt", VEC_YES, "sqrt* rsqrt*" },
	{ "approx", VEC_YES, "rsqrt* rcp*" },
	{ "convert", VEC_YES,
	  "cvt* pmovzx* pmovsx* pmov[bwdq][bwd] pmovs[wdq][bwd] pmovus[wdq][bwd]" },
	{ "x87", VEC_NO, "f*" },
};
/* clang-format on */

/* Packed arithmetic, at any width. */
static const char packed[] =
	"addp[sd] subp[sd] mulp[sd] divp[sd] sqrtp[sd] rsqrt*p[sd] rcp*p[sd] minp[sd] maxp[sd] "
	"haddp[sd] hsubp[sd] addsubp[sd] dpp[sd] cmp*p[sd] roundp[sd] rndscalep[sd] getexpp[sd] "
	"getmantp[sd] rangep[sd] reducep[sd] scalefp[sd] fixupimmp[sd] fmadd*p[sd] fmsub*p[sd] "
	"fnmadd*p[sd] fnmsub*p[sd] fmaddsub*p[sd] fmsubadd*p[sd] addph subph mulph divph minph "
	"maxph sqrtph fmadd*ph fmsub*ph fnmadd*ph fnmsub*ph padd[bwdq] padds[bw] paddus[bw] "
	"psub[bwdq] psubs[bw] psubus[bw] pmul* pmadd* pavg[bw] pabs[bwdq] psign[bwd] "
	"pmin[su][bwdq] pmax[su][bwdq] psadbw mpsadbw dbpsadbw phadd* phsub* phminposuw "
	"pcmpeq[bwdq] pcmpgt[bwdq] pcmp[bwdq] pcmpu[bwdq] pcmp*[bwdq] psll[wdq] psrl[wdq] "
	"psra[wdq] psllv[wdq] psrlv[wdq] psrav[wdq] prol[dq] prolv[dq] pror[dq] prorv[dq] "
	"plzcnt[dq] pconflict[dq] popcnt[bwdq] pdp* pshld* pshrd* gf2p8* aesenc* aesdec* pclmul*";
/* Bitwise logic counts from 256 bits on: on 128 compilers use it for scalars (fabs, negation). */
static const char logic[] =
	"pand por pxor pandn pand[dq] por[dq] pxor[dq] pandn[dq] andp[sd] andnp[sd] orp[sd] "
	"xorp[sd] pternlog[dq]";

static bool matches_any(const char *patterns, const char *word)
{
	char one[64];
	size_t n;

	for (const char *p = patterns; *p; p += n + strspn(p + n, " ")) {
		n = strcspn(p, " ");
		if (n >= sizeof(one))
			continue;
		memcpy(one, p, n);
		one[n] = '\0';
		if (!fnmatch(one, word, 0))
			return true;
	}
	return false;
}

/* What a mnemonic shows, whatever its operands: found once for each. */
struct shown {
	uint32_t vec, scalar; /* bits of by_insn with and without vector operands */
	bool packed, logic;
};

static struct shown *look_up(const char *op)
{
	const char *stem = op[0] == 'v' ? op + 1 : op;
	struct shown *s = kl_calloc(1, sizeof(*s));

	for (size_t i = 0; i < KL_ARRAY_SIZE(by_insn); i++) {
		if (!matches_any(by_insn[i].patterns, stem))
			continue;
		if (by_insn[i].vec != VEC_NO)
			s->vec |= UINT32_C(1) << i;
		if (by_insn[i].vec != VEC_YES)
			s->scalar |= UINT32_C(1) << i;
	}
	s->packed = matches_any(packed, stem);
	s->logic = matches_any(logic, stem);
	return s;
}

/* x ^ x, x == x: a constant, no arithmetic. */
static bool is_idiom(const struct kl_insn *in, bool logical)
{
	const char *a = in->args, *b = strchr(a, ',');
	size_t n = b ? (size_t)(b - a) : 0;

	if (!n || a[0] != '%' || strncmp(a, b + 1, n) ||
	    (b[1 + n] && b[1 + n] != ',' && b[1 + n] != '{'))
		return false;
	return logical || strstr(in->op, "pcmpeq") || strstr(in->op, "psub") ||
	       strstr(in->op, "ternlog");
}

struct scan {
	const struct kl_code *c;
	struct kl_strvec *out;
	struct kl_map seen; /* mnemonic -> struct shown */
	uint32_t bits;
	bool vec[3], masked, atomic, rep;
	bool static_data, table;
};

static void scan_insn(struct scan *s, const struct kl_insn *in)
{
	struct shown *m = kl_map_get(&s->seen, in->op);
	int width = kl_insn_width(in);

	if (!m) {
		m = look_up(in->op);
		kl_map_put(&s->seen, in->op, m);
	}
	s->bits |= width ? m->vec : m->scalar;
	if (width && (m->packed || (m->logic && width >= 256)) && !is_idiom(in, m->logic))
		s->vec[width == 512 ? 2 : width == 256 ? 1 : 0] = true;
	s->masked |= width && strstr(in->args, "{%k");
	s->atomic |= in->lock;
	s->rep |= in->rep && strstr(in->args, "%es:"); /* string instructions, not "repz ret" */
}

/* Writable static memory, and constant tables of at least a cache line. */
static void scan_data(struct scan *s, const struct kl_ref *ref)
{
	const struct kl_object *o = s->c->obj[ref->obj];
	const struct kl_osec *sec = &o->sec[ref->sec];
	size_t r;

	if (sec->flags & SHF_WRITE) {
		/* constant pointers are writable until the loader is done */
		if (strncmp(sec->name, ".data.rel.ro", 12))
			s->static_data = true;
		return;
	}
	if (kl_osec_is_code(sec) || (sec->flags & SHF_MERGE) || sec->size < 64)
		return;
	r = kl_object_rel_at(o, ref->sec, 0);
	if (r == o->nrel) /* jump tables have relocations */
		s->table = true;
}

static void emit_call(struct scan *s, const struct kl_insn *in, const struct kl_ref *ref)
{
	/* an address taken counts as a call: what else would a kernel do with it */
	if (ref->kind == KL_REF_EXTERN && kl_symbol_kind(ref->name) == KL_SYMBOL_ALLOC)
		kl_strvec_push(s->out, "alloc");
	else if (ref->kind == KL_REF_EXTERN)
		kl_strvec_pushf(s->out, "call.%s", ref->name);
	else if (kl_insn_is_call(in) && kl_insn_is_indirect(in) && ref->kind != KL_REF_CODE)
		kl_strvec_push(s->out, "call.indirect");
}

static void scan_refs(struct scan *s, size_t f)
{
	const struct kl_func *fn = &s->c->func[f];
	struct kl_ref ref;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		const struct kl_insn *in = &s->c->insn[i];

		kl_code_insn_ref(&ref, s->c, f, i);
		if (ref.kind == KL_REF_DATA)
			scan_data(s, &ref);
		emit_call(s, in, &ref);
	}
}

/* ---- spills and stack ---- */

/* "16(%rsp)" at the end or the start of the operands; NULL: no fixed stack slot. */
static const char *stack_slot(const struct kl_insn *in, bool store, size_t *len)
{
	const char *a = in->args, *open = strchr(a, '(');
	const char *s = a, *e;

	if (!open || (strncmp(open, "(%rsp)", 6) && strncmp(open, "(%rbp)", 6)))
		return NULL;
	e = open + 6;
	if (store) {
		if (*e)
			return NULL;
		for (s = open; s > a && s[-1] != ','; s--)
			;
		if (s == a)
			return NULL;
	} else if (*e != ',') {
		return NULL;
	}
	*len = (size_t)(e - s);
	return s;
}

static bool vector_move(const struct kl_insn *in)
{
	const char *stem = in->op[0] == 'v' ? in->op + 1 : in->op;

	return matches_any("mova* movu* movdqa* movdqu*", stem);
}

static void scan_stack(struct scan *s, size_t f)
{
	KL_AUTO(kl_map_release) struct kl_map stored = KL_MAP_INIT;
	const struct kl_func *fn = &s->c->func[f];
	bool spill = false, large = false;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		const struct kl_insn *in = &s->c->insn[i];
		KL_AUTO(kl_freep) char *at = NULL;
		const char *p;
		size_t n;

		if (!strncmp(in->op, "sub", 3) && in->args[0] == '$' && strstr(in->args, ",%rsp") &&
		    strtoull(in->args + 1, NULL, 16) >= 4096)
			large = true;
		if (!kl_insn_width(in))
			continue;
		if (vector_move(in) && (p = stack_slot(in, true, &n))) {
			at = kl_strndup(p, n);
			kl_map_put(&stored, at, s);
		} else if ((p = stack_slot(in, false, &n))) {
			at = kl_strndup(p, n);
			spill |= kl_map_get(&stored, at) != NULL;
		}
	}
	if (spill)
		kl_strvec_push(s->out, "spill");
	if (large)
		kl_strvec_push(s->out, "stack.large");
}

/* ---- loops and recursion ---- */

struct nest {
	const struct kl_code *c;
	unsigned **depth; /* per function: per instruction */
	unsigned *total;  /* deepest nest from this function's start on, calls followed */
	char *state;      /* 0 new, 1 on the path, 2 done */
	bool recursion;
};

/* Function that an instruction calls, or jumps to the start of. */
static size_t called_function(const struct kl_code *c, size_t f, size_t i)
{
	const struct kl_insn *in = &c->insn[i];
	struct kl_ref ref;

	if (!kl_insn_is_call(in) && !kl_insn_is_jump(in))
		return c->nfunc;
	kl_code_insn_ref(&ref, c, f, i);
	if (ref.kind != KL_REF_CODE ||
	    (!kl_insn_is_call(in) && ref.insn != c->func[ref.func].first))
		return c->nfunc;
	/* a jump to one's own first instruction is a loop */
	return ref.func == f && !kl_insn_is_call(in) ? c->nfunc : ref.func;
}

/*
 * One step of a depth-first walk over the calls: the next callee to enter, or nfunc when `f` is
 * done.
 */
static size_t advance_nest(struct nest *t, size_t f, size_t *next)
{
	const struct kl_func *fn = &t->c->func[f];

	for (; *next < fn->n; (*next)++) {
		size_t g = called_function(t->c, f, fn->first + *next);
		unsigned here = t->depth[f][*next];

		if (g == t->c->nfunc) {
			t->total[f] = here > t->total[f] ? here : t->total[f];
			continue;
		}
		if (t->state[g] == 0)
			return g;
		if (t->state[g] == 1)
			t->recursion = true;
		else if (here + t->total[g] > t->total[f])
			t->total[f] = here + t->total[g];
	}
	return t->c->nfunc;
}

static void walk_nest(struct nest *t, size_t root)
{
	KL_AUTO(kl_freep) size_t *stack = kl_calloc(t->c->nfunc, sizeof(*stack));
	KL_AUTO(kl_freep) size_t *next = kl_calloc(t->c->nfunc, sizeof(*next));
	size_t depth = 0;

	if (t->state[root])
		return;
	stack[depth++] = root;
	t->state[root] = 1;
	while (depth) {
		size_t f = stack[depth - 1], g = advance_nest(t, f, &next[f]);

		if (g == t->c->nfunc) {
			t->state[f] = 2;
			depth--;
			continue;
		}
		t->state[g] = 1;
		stack[depth++] = g;
	}
}

static void emit_loops(struct scan *s)
{
	const struct kl_code *c = s->c;
	struct nest t = {
		.c = c,
		.depth = kl_calloc(c->nfunc, sizeof(*t.depth)),
		.total = kl_calloc(c->nfunc, sizeof(*t.total)),
		.state = kl_calloc(c->nfunc, 1),
	};
	bool known = true;
	unsigned most = 0;

	for (size_t k = 0; k < c->norder; k++) {
		size_t f = c->order[k];

		t.depth[f] = kl_calloc(c->func[f].n, sizeof(**t.depth));
		known &= kl_code_loops(c, f, t.depth[f]);
		if (kl_code_has_table(c, f))
			kl_strvec_push(s->out, "jump-table");
	}
	for (size_t k = 0; k < c->norder; k++) /* those that are only pointed at, too */
		walk_nest(&t, c->order[k]);
	for (size_t k = 0; k < c->norder; k++)
		most = t.total[c->order[k]] > most ? t.total[c->order[k]] : most;
	if (known)
		kl_strvec_pushf(s->out, "loop.depth.%u", most);
	else
		kl_strvec_push(s->out, "loop.depth.unknown");
	if (t.recursion)
		kl_strvec_push(s->out, "recursion");
	for (size_t f = 0; f < c->nfunc; f++)
		free(t.depth[f]);
	free(t.depth);
	free(t.total);
	free(t.state);
}

static void emit_bits(struct scan *s)
{
	static const char *const width[] = { "vec.128", "vec.256", "vec.512" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(by_insn); i++)
		if (s->bits & (UINT32_C(1) << i))
			kl_strvec_push(s->out, by_insn[i].feature);
	for (size_t i = 0; i < KL_ARRAY_SIZE(width); i++)
		if (s->vec[i])
			kl_strvec_push(s->out, width[i]);
	if (s->masked)
		kl_strvec_push(s->out, "masked");
	if (s->atomic)
		kl_strvec_push(s->out, "atomic");
	if (s->rep)
		kl_strvec_push(s->out, "rep");
	if (s->static_data)
		kl_strvec_push(s->out, "static-data");
	if (s->table)
		kl_strvec_push(s->out, "table");
}

void kl_code_features(struct kl_strvec *out, const struct kl_code *c)
{
	struct scan s = { .c = c, .out = out, .seen = { .free_value = free } };

	for (size_t k = 0; k < c->norder; k++) {
		const struct kl_func *f = &c->func[c->order[k]];

		for (size_t i = f->first; i < f->first + f->n; i++)
			scan_insn(&s, &c->insn[i]);
		scan_refs(&s, c->order[k]);
		scan_stack(&s, c->order[k]);
	}
	emit_bits(&s);
	emit_loops(&s);
	kl_strvec_uniq(out);
	kl_map_release(&s.seen);
}
