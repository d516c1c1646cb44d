/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/features.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/prefix.h"

/*
 * The feature that an instruction shows. Patterns are matched by fnmatch(3) against the opcode with
 * all its modifiers. An access without a state space (generic) counts as global, because the
 * compiler knows which accesses are to shared memory, and gives them their state space.
 */
struct rule {
	const char *feature, *pattern;
};

static const struct rule ptx_rules[] = {
	{ "ldg.128", "ld.global*.v4.?32" },
	{ "ldg.128", "ld.global*.v2.?64" },
	{ "ldg.128", "ld.global*.b128" },
	{ "ldg.128", "ld.v4.?32" },
	{ "ldg.128", "ld.v2.?64" },
	{ "ldg.128", "ld.*global*.v4.?32" },
	{ "ldg.128", "ld.*global*.v2.?64" },
	{ "ldg.256", "ld.*global*.v8.?32" },
	{ "ldg.256", "ld.*global*.v4.?64" },
	{ "stg.128", "st.global*.v4.?32" },
	{ "stg.128", "st.global*.v2.?64" },
	{ "stg.128", "st.global*.b128" },
	{ "stg.128", "st.v4.?32" },
	{ "stg.128", "st.v2.?64" },
	{ "stg.128", "st.*global*.v4.?32" },
	{ "stg.128", "st.*global*.v2.?64" },
	{ "stg.256", "st.*global*.v8.?32" },
	{ "stg.256", "st.*global*.v4.?64" },
	{ "lds.128", "ld.*shared*.v4.?32" },
	{ "lds.128", "ld.*shared*.v2.?64" },
	{ "sts.128", "st.*shared*.v4.?32" },
	{ "sts.128", "st.*shared*.v2.?64" },
	{ "cache-hint", "*.L2::cache_hint*" },
	{ "cache-hint", "ld.*.L1::*" },
	{ "cache-hint", "st.*.L1::*" },
	{ "cache-hint", "createpolicy.*" },
	{ "prefetch", "prefetch*" },
	{ "prefetch", "cp.async.bulk.prefetch.*" },

	{ "cp.async", "cp.async.ca.*" },
	{ "cp.async", "cp.async.cg.*" },
	{ "tma.load", "cp.async.bulk.tensor.*.shared::c*.global*" },
	{ "tma.store", "cp.async.bulk.tensor.*.global.shared::cta*" },
	{ "tma.im2col", "cp.*.bulk.*tensor.*im2col*" },
	{ "tma.reduce", "cp.reduce.async.bulk.tensor.*" },
	{ "bulk.load", "cp.async.bulk.shared::c*.global*" },
	{ "bulk.store", "cp.async.bulk.global.shared::cta*" },
	{ "bulk.reduce", "cp.reduce.async.bulk.global*" },
	{ "bulk.reduce", "cp.reduce.async.bulk.shared*" },
	{ "multicast", "*.multicast::cluster*" },
	{ "tensormap", "tensormap.*" },
	{ "mbarrier", "mbarrier.*" },
	{ "fence.proxy", "fence.proxy.*" },

	{ "ldmatrix", "ldmatrix.*" },
	{ "stmatrix", "stmatrix.*" },
	{ "movmatrix", "movmatrix.*" },
	{ "mma", "mma.*" },
	{ "wmma", "wmma.mma.*" },
	{ "wgmma", "wgmma.mma_async.*" },
	{ "tcgen05", "tcgen05.mma*" },
	{ "tf32", "*.tf32*" },
	{ "fma.f64", "fma.r?.f64" },
	{ "fma.f32", "fma.r?.*f32" },
	{ "fma.f32", "fma.r?.f32" },
	{ "fma.f16", "fma.r?.*f16*" },
	{ "dp4a", "dp4a.*" },

	{ "setmaxnreg", "setmaxnreg.*" },
	{ "cluster", "barrier.cluster.*" },
	{ "cluster", "mapa*" },
	{ "cluster", "ld.*shared::cluster*" },
	{ "cluster", "st.*shared::cluster*" },
	{ "cluster", "atom.*shared::cluster*" },
	{ "cluster", "red.*shared::cluster*" },
	{ "cluster", "cp.async.bulk.shared::cluster.shared::cta*" },
	{ "pdl", "griddepcontrol.*" },
	{ "shfl", "shfl.*" },
	{ "vote", "vote.*" },
	{ "ballot", "vote.*ballot*" },
	{ "match", "match.*" },
	{ "redux", "redux.*" },
	{ "elect", "elect.*" },
	{ "atom.shared", "atom.*shared*" },
	{ "atom.shared", "red.*shared*" },
	{ "smem", "*.shared*" },
	{ "bar", "bar.*" },
	{ "bar", "barrier.sync*" },
	{ "bar", "barrier.arrive*" },
	{ "bar", "barrier.red*" },

	{ "ex2.approx", "ex2.approx*" },
	{ "lg2.approx", "lg2.approx*" },
	{ "rcp.approx", "rcp.approx*" },
	{ "rsqrt.approx", "rsqrt.approx*" },
	{ "tanh.approx", "tanh.approx*" },
	{ "sincos.approx", "sin.approx*" },
	{ "sincos.approx", "cos.approx*" },
	{ "div", "div.rn*" },
	{ "div", "div.full*" },
	{ "div", "div.approx*" },
	{ "sqrt", "sqrt.*" },
	{ "idiv", "div.[su]*" },
	{ "idiv", "rem.*" },
};

static const struct rule sass_rules[] = {
	{ "ldg.128", "LDG.*128*" },
	{ "ldg.128", "LD.E*128*" },
	{ "ldg.256", "LDG.*256*" },
	{ "stg.128", "STG.*128*" },
	{ "stg.128", "ST.E*128*" },
	{ "stg.256", "STG.*256*" },
	{ "lds.128", "LDS.*128*" },
	{ "sts.128", "STS.*128*" },
	{ "prefetch", "CCTL*PF*" },
	{ "prefetch", "UTMAPF*" },
	{ "prefetch", "UBLKPF*" },
	{ "cp.async", "LDGSTS*" },
	{ "tma.load", "UTMALDG*" },
	{ "tma.store", "UTMASTG*" },
	{ "tma.reduce", "UTMAREDG*" },
	{ "tma.im2col", "UTMALDG*IM2COL*" },
	{ "tma.im2col", "UTMASTG*IM2COL*" },
	{ "multicast", "UTMALDG*MULTICAST*" },
	{ "bulk.load", "UBLKCP*" },
	{ "bulk.reduce", "UBLKRED*" },
	{ "mbarrier", "SYNCS*" },
	{ "fence.proxy", "FENCE.VIEW.ASYNC*" },
	{ "ldmatrix", "LDSM*" },
	{ "stmatrix", "STSM*" },
	{ "movmatrix", "MOVM*" },
	{ "mma", "[HIDBQO]MMA*" },
	{ "wgmma", "[HIQ]GMMA*" },
	{ "tcgen05", "UTC*MMA*" },
	{ "tf32", "*MMA*TF32*" },
	{ "fma.f64", "DFMA*" },
	{ "fma.f32", "FFMA*" },
	{ "fma.f16", "HFMA2*" },
	{ "setmaxnreg", "USETMAXREG*" },
	{ "cluster", "UCGABAR*" },
	{ "cluster", "MAPA*" },
	{ "pdl", "ACQBULK*" },
	{ "pdl", "PREEXIT*" },
	{ "shfl", "SHFL*" },
	{ "vote", "VOTE*" },
	{ "match", "MATCH*" },
	{ "redux", "REDUX*" },
	{ "redux", "CREDUX*" },
	{ "elect", "ELECT*" },
	{ "atom.shared", "ATOMS*" },
	{ "atom.global", "ATOMG*" },
	{ "atom.global", "ATOM.*" },
	{ "atom.global", "RED.*" },
	{ "atom.global", "REDG*" },
	{ "smem", "LDS*" },
	{ "smem", "STS*" },
	{ "smem", "ATOMS*" },
	{ "smem", "LDGSTS*" },
	{ "smem", "UTMA*" },
	{ "bar", "BAR.*" },
	{ "ex2.approx", "MUFU.EX2*" },
	{ "lg2.approx", "MUFU.LG2*" },
	{ "rcp.approx", "MUFU.RCP*" },
	{ "rsqrt.approx", "MUFU.RSQ*" },
	{ "tanh.approx", "MUFU.TANH*" },
	{ "sincos.approx", "MUFU.SIN*" },
	{ "sincos.approx", "MUFU.COS*" },
	{ "local", "LDL*" },
	{ "local", "STL*" },
};

/* -- finding the types of matrix instructions ------------------------------------------ */

static bool has_part(const char *op, const char *part)
{
	for (const char *text = strchr(op, '.'); text; text = strchr(text + 1, '.'))
		if (kl_prefix_is_dotted(text + 1, part))
			return true;
	return false;
}

/*
 * Return the type of the factors, not that of the sum: "bf16" for
 * "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
 */
static const char *factor_type(const char *op)
{
	static const struct {
		const char *part, *type;
	} types[] = {
		{ "bf16", "bf16" }, { "BF16", "bf16" }, { "tf32", "tf32" }, { "TF32", "tf32" },
		{ "e4m3", "e4m3" }, { "E4M3", "e4m3" }, { "e5m2", "e5m2" }, { "E5M2", "e5m2" },
		{ "f64", "f64" },   { "s8", "s8" },     { "S8", "s8" },     { "u8", "u8" },
		{ "U8", "u8" },     { "s4", "s4" },     { "u4", "u4" },     { "b1", "b1" },
		{ "e2m1", "e2m1" }, { "e3m2", "e3m2" }, { "e2m3", "e2m3" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(types); i++)
		if (has_part(op, types[i].part))
			return types[i].type;
	return op[0] == 'D' ? "f64" : op[0] == 'I' ? "s8" : "f16";
}

/*
 * Return true if the sum is kept in half precision: the instruction then names f16, but not f32,
 * s32 or f64.
 */
static bool half_sum(const char *op)
{
	return !has_part(op, "f32") && !has_part(op, "F32") && !has_part(op, "s32") &&
	       !has_part(op, "f64") && (has_part(op, "f16") || has_part(op, "F16"));
}

static void add_matrix(struct kl_strvec *out, const char *feature, const char *op)
{
	if (strcmp(feature, "mma") && strcmp(feature, "wmma") && strcmp(feature, "wgmma"))
		return;
	kl_strvec_pushf(out, "%s.%s", feature, factor_type(op));
	if (half_sum(op))
		kl_strvec_push(out, "mma.sum-f16");
}

/* -- finding features ---------------------------------------------------------------------- */

static void add_by_rules(struct kl_strvec *out, const char *op, const struct rule *rule, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fnmatch(rule[i].pattern, op, 0))
			continue;
		kl_strvec_push(out, rule[i].feature);
		add_matrix(out, rule[i].feature, op);
	}
	/* an atomic without a state space counts as global */
	if ((!strncmp(op, "atom.", 5) || !strncmp(op, "red.", 4)) && !strstr(op, "shared"))
		kl_strvec_push(out, "atom.global");
}

static void add_function_features(struct kl_strvec *out, const struct kl_ptx_fn *fn,
				  const char *verbose)
{
	struct kl_cuda_spill spill = kl_cuda_spill(verbose, fn->name);
	bool local = false;

	for (size_t i = 0; i < fn->nop; i++) {
		add_by_rules(out, fn->op[i].name, ptx_rules, KL_ARRAY_SIZE(ptx_rules));
		local |= kl_prefix_has(fn->op[i].name, "ld.local") ||
			 kl_prefix_has(fn->op[i].name, "st.local");
	}
	for (size_t i = 0; i < fn->special.n; i++)
		if (kl_prefix_has(fn->special.v[i], "%cluster") ||
		    kl_prefix_has(fn->special.v[i], "%ncluster"))
			kl_strvec_push(out, "cluster");
	for (size_t i = 0; i < fn->directive.n; i++)
		if (!strcmp(fn->directive.v[i], ".reqnctapercluster"))
			kl_strvec_push(out, "cluster");
	if (!fn->entry)
		kl_strvec_push(out, "call");
	if (spill.stores || spill.loads)
		kl_strvec_push(out, "spill");
	/*
	 * the feature `local`: an array on the stack that ptxas could not remove, accessed by
	 * instructions with the state space local or with none (generic)
	 */
	if (spill.frame && (local || !(spill.stores || spill.loads)))
		kl_strvec_push(out, "local");
}

static void add_plan_features(struct kl_strvec *out, const struct kl_cuda_wish *wish)
{
	for (size_t i = 0; i < wish->nlaunch; i++) {
		if (wish->launch[i].cluster > 1)
			kl_strvec_push(out, "cluster");
		if (wish->launch[i].pdl)
			kl_strvec_push(out, "pdl");
		if (wish->launch[i].cooperative)
			kl_strvec_push(out, "cooperative");
		if (wish->launch[i].prepare)
			kl_strvec_push(out, "prepare");
	}
	if (wish->name.n > 1)
		kl_strvec_push(out, "kernels");
}

void kl_cuda_features(struct kl_strvec *out, const struct kl_cuda_code *code)
{
	struct kl_strvec all = KL_STRVEC_INIT;

	for (size_t i = 0; code->ptx && i < code->ptx->nfn; i++)
		if (code->ptx->fn[i].reached && code->ptx->fn[i].defined)
			add_function_features(&all, &code->ptx->fn[i], code->verbose);
	for (size_t i = 0; code->ptx && i < code->ptx->nvar; i++)
		if (code->ptx->var[i].reached && code->ptx->var[i].space != KL_PTX_SHARED)
			kl_strvec_push(&all, "table");
	for (size_t i = 0; !code->ptx && i < code->wish->name.n; i++) {
		const struct kl_sass_fn *fn = kl_sass_function(code->sass, code->wish->name.v[i]);

		for (size_t k = 0; fn && k < fn->nop; k++)
			add_by_rules(&all, fn->op[k].name, sass_rules, KL_ARRAY_SIZE(sass_rules));
	}
	add_plan_features(&all, code->wish);
	kl_strvec_uniq(&all);
	for (size_t i = 0; i < all.n; i++)
		kl_strvec_push(out, all.v[i]);
	kl_strvec_release(&all);
}

/* -- reading the output of ptxas -v ------------------------------------------------------------ */

struct kl_cuda_spill kl_cuda_spill(const char *verbose, const char *function)
{
	static const char head[] = "Function properties for ";
	struct kl_cuda_spill spill = { 0 };
	size_t n = strlen(function);

	for (const char *at = strstr(verbose, head); at; at = strstr(at, head)) {
		long long frame, stores, loads;

		at += sizeof(head) - 1;
		if (strncmp(at, function, n) || at[n] != '\n')
			continue;
		if (sscanf(at + n,
			   " %lld bytes stack frame, %lld bytes spill stores, %lld bytes spill loads",
			   &frame, &stores, &loads) == 3)
			spill = (struct kl_cuda_spill){ frame, stores, loads };
		break;
	}
	return spill;
}

/* -- computing the digest ---------------------------------------------------------------------- */

static void add_section(struct kl_buf *buf, const struct kl_cubin *cubin, const char *prefix,
			const char *name)
{
	KL_AUTO(kl_freep) char *full = kl_asprintf("%s%s", prefix, name);
	const struct kl_cubin_section *section = kl_cubin_section(cubin, full);

	if (!section)
		return;
	kl_buf_addf(buf, "%s %llu\n", prefix, (unsigned long long)section->size);
	if (section->data)
		kl_buf_add(buf, section->data, section->size);
}

static bool reads_space(const struct kl_ptx *ptx, enum kl_ptx_space space)
{
	for (size_t i = 0; ptx && i < ptx->nvar; i++)
		if (ptx->var[i].reached && ptx->var[i].space == space)
			return true;
	return !ptx;
}

void kl_cuda_digest(char out[KL_DIGEST_HEX], const struct kl_cuda_code *code)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_buf_addf(&buf, "klineage code of cuda 1\narch %s\n", code->wish->arch);
	for (size_t i = 0; i < code->wish->name.n; i++) {
		const struct kl_cubin_kernel *kernel = kl_cubin_kernel(code->cubin,
								       code->wish->name.v[i]);

		kl_buf_addf(&buf, "kernel %zu %lld %lld %lld\n", i, (long long)kernel->registers,
			    (long long)kernel->smem, (long long)kernel->frame);
		kl_buf_addf(&buf, "(%lld %lld %lld) (%lld %lld %lld)\n",
			    (long long)kernel->req_threads[0], (long long)kernel->req_threads[1],
			    (long long)kernel->req_threads[2], (long long)kernel->cluster[0],
			    (long long)kernel->cluster[1], (long long)kernel->cluster[2]);
		add_section(&buf, code->cubin, ".text.", kernel->name);
	}
	for (size_t i = 0; code->ptx && i < code->ptx->nfn; i++)
		if (code->ptx->fn[i].reached && !code->ptx->fn[i].entry)
			add_section(&buf, code->cubin, ".text.", code->ptx->fn[i].name);
	if (reads_space(code->ptx, KL_PTX_CONST))
		add_section(&buf, code->cubin, ".nv.constant3", "");
	if (reads_space(code->ptx, KL_PTX_GLOBAL))
		add_section(&buf, code->cubin, ".nv.global.init", "");
	kl_buf_add(&buf, code->wish->text.ptr, code->wish->text.len);
	kl_digest_hex(out, buf.ptr, buf.len);
}

/* -- which features there are ------------------------------------------------------------- */

bool kl_cuda_has_feature(const char *name)
{
	static const char *const other[] = { "atom.global", "call",  "cluster", "cooperative",
					     "kernels",     "local", "prepare", "spill",
					     "table",       "mma.*", "wmma.*",  "wgmma.*" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(ptx_rules); i++)
		if (!strcmp(ptx_rules[i].feature, name))
			return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(other); i++)
		if (!fnmatch(other[i], name, 0))
			return true;
	return false;
}
