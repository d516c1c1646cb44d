/* SPDX-License-Identifier: Apache-2.0 */
/* features - finds the features of a kernel in C in its instructions */
#include <elf.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/audit.h"
#include "backend/c/code/code.h"
#include "base/map.h"

/*
 * Features that a single instruction shows. Patterns match the mnemonic without the leading v of
 * its VEX and EVEX forms. `vec` tells whether the operands must (VEC_YES), must not (VEC_NO) or may
 * (VEC_ANY) name vector registers.
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
	{ "madd", VEC_YES, "pmaddwd pmaddubsw pdp*" },
	{ "sad", VEC_YES, "psadbw mpsadbw dbpsadbw" },
	{ "mul.wide", VEC_ANY, "pmuludq pmuldq mulx mulxl mulxq mulq imulq" },
	{ "clmul", VEC_YES, "pclmul*" },
	{ "crc32", VEC_NO, "crc32*" },
	{ "aes", VEC_YES, "aes*" },
	{ "sha", VEC_YES, "sha1* sha256* sha512*" },
};
/* clang-format on */

/* Packed arithmetic: the width of its operands shows vec.128, vec.256 or vec.512. */
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
/*
 * Bitwise logic shows only vec.256 and vec.512, because compilers use the 128-bit forms for scalars
 * (fabs, negation).
 */
static const char logic[] =
	"pand por pxor pandn pand[dq] por[dq] pxor[dq] pandn[dq] andp[sd] andnp[sd] orp[sd] "
	"xorp[sd] pternlog[dq]";

static bool matches_any(const char *patterns, const char *word)
{
	char one[64];
	size_t n;

	for (const char *at = patterns; *at; at += n + strspn(at + n, " ")) {
		n = strcspn(at, " ");
		if (n >= sizeof(one))
			continue;
		memcpy(one, at, n);
		one[n] = '\0';
		if (!fnmatch(one, word, 0))
			return true;
	}
	return false;
}

/* Features that a mnemonic shows. They are looked up once per mnemonic. */
struct shown {
	/*
	 * bits of the matching rows of by_insn, for instructions with and without vector operands
	 */
	uint32_t vec, scalar;
	bool packed, logic;
};

static struct shown *look_up(const char *op)
{
	const char *stem = op[0] == 'v' ? op + 1 : op;
	struct shown *shown = kl_calloc(1, sizeof(*shown));

	for (size_t i = 0; i < KL_ARRAY_SIZE(by_insn); i++) {
		if (!matches_any(by_insn[i].patterns, stem))
			continue;
		if (by_insn[i].vec != VEC_NO)
			shown->vec |= UINT32_C(1) << i;
		if (by_insn[i].vec != VEC_YES)
			shown->scalar |= UINT32_C(1) << i;
	}
	shown->packed = matches_any(packed, stem);
	shown->logic = matches_any(logic, stem);
	return shown;
}

/*
 * Return true if the instruction only makes a constant (x ^ x, x == x, x - x), which is not
 * arithmetic.
 */
static bool is_idiom(const struct kl_insn *in, bool logical)
{
	const char *first = in->args, *comma = strchr(first, ',');
	size_t n = comma ? (size_t)(comma - first) : 0;

	if (!n || first[0] != '%' || strncmp(first, comma + 1, n) ||
	    (comma[1 + n] && comma[1 + n] != ',' && comma[1 + n] != '{'))
		return false;
	return logical || strstr(in->op, "pcmpeq") || strstr(in->op, "psub") ||
	       strstr(in->op, "ternlog");
}

struct scan {
	const struct kl_code *code;
	struct kl_strvec *out;
	enum kl_insn_use use; /* lowest use of the instructions that count */
	struct kl_map seen;   /* mnemonic -> struct shown */
	uint32_t bits;
	bool vec[3], masked, atomic, rep;
	bool static_data, table, wide_product, table_shuffle;
	unsigned accumulators; /* largest number of accumulators in one loop */
};

/*
 * Return true for the forms of mul and imul with one 64-bit operand, whose product has 128 bits.
 * (With an operand in memory, the mnemonic has a suffix: mulq.)
 */
static bool is_wide_product(const struct kl_insn *in)
{
	size_t n = strlen(in->args);

	return (!strcmp(in->op, "mul") || !strcmp(in->op, "imul")) && !strncmp(in->args, "%r", 2) &&
	       !strchr(in->args, ',') && !strchr("dwb", in->args[n - 1]);
}

static void scan_insn(struct scan *scan, const struct kl_insn *in)
{
	struct shown *shown = kl_map_get(&scan->seen, in->op);
	int width = kl_insn_width(in);

	if (!shown) {
		shown = look_up(in->op);
		kl_map_put(&scan->seen, in->op, shown);
	}
	scan->bits |= width ? shown->vec : shown->scalar;
	if (width && (shown->packed || (shown->logic && width >= 256)) &&
	    !is_idiom(in, shown->logic))
		scan->vec[width == 512 ? 2 : width == 256 ? 1 : 0] = true;
	scan->masked |= width && strstr(in->args, "{%k");
	scan->atomic |= in->lock;
	scan->wide_product |= is_wide_product(in);
	/* count only string instructions, not the prefix in "repz ret" */
	scan->rep |= in->rep && strstr(in->args, "%es:");
}

/*
 * Record references to writable static data, and to constant tables of at least a cache line (64
 * bytes).
 */
static void scan_data(struct scan *scan, const struct kl_ref *ref)
{
	const struct kl_object *object = scan->code->obj[ref->obj];
	const struct kl_osec *sec = &object->sec[ref->sec];
	size_t rel;

	if (sec->flags & SHF_WRITE) {
		scan->static_data |= kl_osec_is_writable(sec);
		return;
	}
	if (kl_osec_is_code(sec) || (sec->flags & SHF_MERGE) || sec->size < 64)
		return;
	rel = kl_object_rel_at(object, ref->sec, 0);
	if (rel == object->nrel) /* a jump table has relocations, a constant table has none */
		scan->table = true;
}

static void emit_call(struct scan *scan, const struct kl_insn *in, const struct kl_ref *ref)
{
	/*
	 * taking the address of a function counts as a call, because a kernel has no other use for
	 * it
	 */
	if (ref->kind == KL_REF_EXTERN && kl_symbol_kind(ref->name) == KL_SYMBOL_ALLOC)
		kl_strvec_push(scan->out, "alloc");
	else if (ref->kind == KL_REF_EXTERN && ref->name[0] == '.')
		return; /* data that gcc shares among objects: the lock of a critical section */
	else if (ref->kind == KL_REF_EXTERN)
		kl_strvec_pushf(scan->out, "call.%s", ref->name);
	else if (kl_insn_is_call(in) && kl_insn_is_indirect(in) && ref->kind != KL_REF_CODE)
		kl_strvec_push(scan->out, "call.indirect");
}

/*
 * Return true if the instruction is a jump through a pointer whose target is not constant. The
 * caller checks that the function has no jump table; then the jump is a tail call.
 */
static bool is_tail_call(const struct scan *scan, size_t func, size_t i)
{
	struct kl_ref ref;

	if (!kl_insn_is_jump(&scan->code->insn[i]) || !kl_insn_is_indirect(&scan->code->insn[i]))
		return false;
	kl_code_branch_target(&ref, scan->code, func, i);
	return ref.kind == KL_REF_NONE;
}

static void scan_refs(struct scan *scan, size_t func)
{
	const struct kl_func *fn = &scan->code->func[func];
	bool tail_call = false;
	struct kl_ref ref;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		const struct kl_insn *in = &scan->code->insn[i];

		if (in->use < scan->use)
			continue;
		kl_code_insn_ref(&ref, scan->code, func, i);
		if (ref.kind == KL_REF_DATA)
			scan_data(scan, &ref);
		emit_call(scan, in, &ref);
		tail_call |= is_tail_call(scan, func, i);
	}
	if (tail_call && !kl_code_has_table(scan->code, func, scan->use))
		kl_strvec_push(scan->out, "call.indirect");
}

/*
 * ---- register spills and large stack frames ----
 */

/*
 * Find the fixed stack slot, such as "16(%rsp)", that an instruction stores to (`store` is true;
 * its last operand) or loads from (`store` is false; its first operand). Return NULL if there is
 * none.
 */
static const char *stack_slot(const struct kl_insn *in, bool store, size_t *len)
{
	const char *args = in->args, *open = strchr(args, '(');
	const char *slot = args, *end;

	if (!open || (strncmp(open, "(%rsp)", 6) && strncmp(open, "(%rbp)", 6)))
		return NULL;
	end = open + 6;
	if (store) {
		if (*end)
			return NULL;
		for (slot = open; slot > args && slot[-1] != ','; slot--)
			;
		if (slot == args)
			return NULL;
	} else if (*end != ',') {
		return NULL;
	}
	*len = (size_t)(end - slot);
	return slot;
}

static bool vector_move(const struct kl_insn *in)
{
	const char *stem = in->op[0] == 'v' ? in->op + 1 : in->op;

	return matches_any("mova* movu* movdqa* movdqu*", stem);
}

static void scan_stack(struct scan *scan, size_t func)
{
	KL_AUTO(kl_map_release) struct kl_map stored = KL_MAP_INIT;
	const struct kl_func *fn = &scan->code->func[func];
	bool spill = false, large = false;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		const struct kl_insn *in = &scan->code->insn[i];
		KL_AUTO(kl_freep) char *slot = NULL;
		const char *at;
		size_t n;

		if (in->use < scan->use)
			continue;
		if (!strncmp(in->op, "sub", 3) && in->args[0] == '$' && strstr(in->args, ",%rsp") &&
		    strtoull(in->args + 1, NULL, 16) >= 4096)
			large = true;
		if (!kl_insn_width(in))
			continue;
		if (vector_move(in) && (at = stack_slot(in, true, &n))) {
			slot = kl_strndup(at, n);
			kl_map_put(&stored, slot, scan);
		} else if ((at = stack_slot(in, false, &n))) {
			slot = kl_strndup(at, n);
			spill |= kl_map_get(&stored, slot) != NULL;
		}
	}
	if (spill)
		kl_strvec_push(scan->out, "spill");
	if (large)
		kl_strvec_push(scan->out, "stack.large");
}

/*
 * ---- nesting of loops over all calls, and recursion ----
 */

struct nest {
	const struct kl_code *code;
	enum kl_insn_use use;
	/* for each function and each of its instructions: number of loops around it */
	unsigned **depth;
	/* for each function: depth of its deepest loop, counting loops in callees */
	unsigned *total;
	char *state; /* for each function: 0 not visited, 1 on the current path, 2 done */
	bool recursion;
};

/*
 * Return the index of the function that an instruction calls, or whose start it jumps to; nfunc if
 * there is none.
 */
static size_t called_function(const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_insn *in = &code->insn[i];
	struct kl_ref ref;

	if (!kl_insn_is_call(in) && !kl_insn_is_jump(in))
		return code->nfunc;
	kl_code_insn_ref(&ref, code, func, i);
	if (ref.kind != KL_REF_CODE ||
	    (!kl_insn_is_call(in) && ref.insn != code->func[ref.func].first))
		return code->nfunc;
	/* a jump to the start of its own function is a loop, not a call */
	return ref.func == func && !kl_insn_is_call(in) ? code->nfunc : ref.func;
}

/*
 * Advance a depth-first search over the calls of `func`. Return the next callee to enter, or nfunc
 * if all calls of `func` are done.
 */
static size_t advance_nest(struct nest *nest, size_t func, size_t *next)
{
	const struct kl_func *fn = &nest->code->func[func];

	for (; *next < fn->n; (*next)++) {
		size_t callee = called_function(nest->code, func, fn->first + *next);
		unsigned here = nest->depth[func][*next];

		if (nest->code->insn[fn->first + *next].use < nest->use)
			continue;
		if (callee == nest->code->nfunc) {
			nest->total[func] = here > nest->total[func] ? here : nest->total[func];
			continue;
		}
		if (nest->state[callee] == 0)
			return callee;
		if (nest->state[callee] == 1)
			nest->recursion = true;
		else if (here + nest->total[callee] > nest->total[func])
			nest->total[func] = here + nest->total[callee];
	}
	return nest->code->nfunc;
}

static void walk_nest(struct nest *nest, size_t root)
{
	KL_AUTO(kl_freep) size_t *stack = kl_calloc(nest->code->nfunc, sizeof(*stack));
	KL_AUTO(kl_freep) size_t *next = kl_calloc(nest->code->nfunc, sizeof(*next));
	size_t depth = 0;

	if (nest->state[root])
		return;
	stack[depth++] = root;
	nest->state[root] = 1;
	while (depth) {
		size_t func = stack[depth - 1], callee = advance_nest(nest, func, &next[func]);

		if (callee == nest->code->nfunc) {
			nest->state[func] = 2;
			depth--;
			continue;
		}
		nest->state[callee] = 1;
		stack[depth++] = callee;
	}
}

/* Return true if the function has an instruction whose use is high enough for this scan. */
static bool counts(const struct scan *scan, size_t func)
{
	const struct kl_func *fn = &scan->code->func[func];

	for (size_t i = fn->first; i < fn->first + fn->n; i++)
		if (scan->code->insn[i].use >= scan->use)
			return true;
	return false;
}

static void emit_loops(struct scan *scan)
{
	const struct kl_code *code = scan->code;
	struct nest nest = {
		.code = code,
		.use = scan->use,
		.depth = kl_calloc(code->nfunc, sizeof(*nest.depth)),
		.total = kl_calloc(code->nfunc, sizeof(*nest.total)),
		.state = kl_calloc(code->nfunc, 1),
	};
	bool known = true;
	unsigned most = 0;

	for (size_t k = 0; k < code->norder; k++) {
		size_t func = code->order[k];

		nest.depth[func] = kl_calloc(code->func[func].n, sizeof(**nest.depth));
		if (!counts(scan, func))
			continue;
		known &= kl_code_loops(code, func, nest.depth[func]);
		if (kl_code_has_table(code, func, scan->use))
			kl_strvec_push(scan->out, "jump-table");
	}
	/* start at each function, because some are reached only through stored addresses */
	for (size_t k = 0; k < code->norder; k++)
		walk_nest(&nest, code->order[k]);
	for (size_t k = 0; k < code->norder; k++)
		most = nest.total[code->order[k]] > most ? nest.total[code->order[k]] : most;
	if (known)
		kl_strvec_pushf(scan->out, "loop.depth.%u", most);
	else
		kl_strvec_push(scan->out, "loop.depth.unknown");
	if (nest.recursion)
		kl_strvec_push(scan->out, "recursion");
	for (size_t func = 0; func < code->nfunc; func++)
		free(nest.depth[func]);
	free(nest.depth);
	free(nest.total);
	free(nest.state);
}

static void emit_bits(struct scan *scan)
{
	static const char *const width[] = { "vec.128", "vec.256", "vec.512" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(by_insn); i++)
		if (scan->bits & (UINT32_C(1) << i))
			kl_strvec_push(scan->out, by_insn[i].feature);
	for (size_t i = 0; i < KL_ARRAY_SIZE(width); i++)
		if (scan->vec[i])
			kl_strvec_push(scan->out, width[i]);
	if (scan->masked)
		kl_strvec_push(scan->out, "masked");
	if (scan->atomic)
		kl_strvec_push(scan->out, "atomic");
	if (scan->rep)
		kl_strvec_push(scan->out, "rep");
	if (scan->static_data)
		kl_strvec_push(scan->out, "static-data");
	if (scan->table)
		kl_strvec_push(scan->out, "table");
	if (scan->wide_product)
		kl_strvec_push(scan->out, "mul.wide");
	if (scan->table_shuffle)
		kl_strvec_push(scan->out, "table-shuffle");
	if (scan->accumulators < 2)
		return;
	kl_strvec_push(scan->out, "accumulators");
	kl_strvec_pushf(scan->out, "accumulators.%u", scan->accumulators);
}

static void scan_code(struct kl_strvec *out, const struct kl_code *code, enum kl_insn_use use)
{
	struct scan scan = { .code = code, .out = out, .use = use, .seen = { .free_value = free } };

	for (size_t k = 0; k < code->norder; k++) {
		const struct kl_func *func = &code->func[code->order[k]];
		unsigned most = kl_code_accumulators(code, code->order[k], use);

		scan.accumulators = most > scan.accumulators ? most : scan.accumulators;
		for (size_t i = func->first; i < func->first + func->n; i++) {
			if (code->insn[i].use < use)
				continue;
			scan_insn(&scan, &code->insn[i]);
			scan.table_shuffle |= kl_code_table_shuffle(code, code->order[k], i);
		}
		scan_refs(&scan, code->order[k]);
		scan_stack(&scan, code->order[k]);
	}
	emit_bits(&scan);
	emit_loops(&scan);
	kl_strvec_uniq(out);
	kl_map_release(&scan.seen);
}

static bool has_pointed(const struct kl_code *code)
{
	for (size_t i = 0; i < code->ninsn; i++)
		if (code->insn[i].use == KL_INSN_POINTED)
			return true;
	return false;
}

void kl_code_features(struct kl_strvec *out, const struct kl_code *code)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT, live = KL_STRVEC_INIT;

	scan_code(&live, code, KL_INSN_LIVE);
	if (has_pointed(code))
		scan_code(&all, code, KL_INSN_POINTED);
	kl_strvec_copy(out, &live);
	for (size_t i = 0; i < all.n; i++)
		if (!kl_strvec_has(&live, all.v[i]))
			kl_strvec_pushf(out, "pointer.%s", all.v[i]);
	kl_strvec_uniq(out);
}

/* ---- which features there are ---- */

bool kl_code_has_feature(const char *name)
{
	static const char other[] =
		"vec.128 vec.256 vec.512 alloc atomic call.* jump-table accumulators accumulators.* "
		"loop.depth.* pointer.* recursion rep spill stack.large static-data table "
		"table-shuffle";

	for (size_t i = 0; i < KL_ARRAY_SIZE(by_insn); i++)
		if (!strcmp(by_insn[i].feature, name))
			return true;
	return matches_any(other, name);
}
