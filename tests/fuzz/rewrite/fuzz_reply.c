/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/utf8.h"
#include "rewrite/edits.h"
#include "rewrite/naming/residue.h"
#include "rewrite/prompt.h"
#include "rewrite/reply/envelope.h"
#include "rewrite/rewriter.h"

/*
 * What a model answers: its envelope, its edits on a small kernel, what they leave behind;
 * and the fence around whatever is shown to it.
 */
static char c_text[] =
	"#define N 4\nstatic int g(int x)\n{\n\treturn x;\n}\n\nvoid f(int *a)\n{\n\tif (N)\n\t\ta[0] = g(1);\n}\n";
static char plan_text[] = "launches:\n  - kernel: f\n";

static struct kl_contract contract = { .entry = (char *)"f" };
static struct kl_file oracle[] = { { .path = (char *)"oracle.c", .data = (char *)"", .len = 0 } };
static struct kl_file sources[] = {
	{ .path = (char *)"a.c", .mode = 0100644, .data = c_text, .len = sizeof(c_text) - 1 },
	{ .path = (char *)"launch.yaml",
	  .mode = 0100644,
	  .data = plan_text,
	  .len = sizeof(plan_text) - 1 },
};
static const struct kl_surface before = {
	.contract = &contract,
	.dir = (char *)"",
	.file = sources,
	.nfile = 2,
	.oracle = oracle,
	.noracle = 1,
	.contract_file = { .path = (char *)"klineage.yaml", .data = (char *)"", .len = 0 },
};

/* only sources, each once, each different, each text that ends where it says */
static void check_edits(const struct kl_envelope *envelope)
{
	struct kl_file after[2] = { sources[0], sources[1] };
	struct kl_surface surface = before;
	struct kl_file *file;
	size_t n;

	if (kl_edits_apply(&file, &n, &before, envelope) < 0)
		return;
	MUST(n >= 1 && n <= 2);
	for (size_t i = 0; i < n; i++) {
		size_t k = strcmp(file[i].path, "a.c") ? 1 : 0;

		MUST(!strcmp(file[i].path, sources[k].path));
		MUST(file[i].mode == 0100644 && strlen(file[i].data) == file[i].len);
		MUST(strcmp(file[i].data, sources[k].data));
		after[k] = file[i];
	}
	surface.file = after;
	kl_residue_check(&before, &surface);
	MUST(kl_residue_check(&before, &before) == 0);
	kl_edits_free(file, n);
}

/* nothing in a text ends its fence before its end */
static void check_fence(const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *fence = NULL;
	const char *at;

	kl_prompt_fence(&buf, "", text, len);
	MUST(kl_utf8_span(buf.ptr, buf.len) == buf.len);
	fence = kl_strndup(buf.ptr, strcspn(buf.ptr, "\n"));
	at = strstr(buf.ptr + strlen(fence), fence);
	MUST(at && !strcmp(at + strlen(fence), "\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct kl_envelope envelope;
	json_t *traits;

	if (!kl_envelope_parse(&envelope, text, size)) {
		MUST(envelope.kind == KL_ENVELOPE_NOTHING ||
		     (envelope.n && kl_envelope_slug(envelope.action)));
		if (envelope.kind == KL_ENVELOPE_STEP)
			check_edits(&envelope);
		kl_envelope_release(&envelope);
	}
	if (!kl_envelope_traits(&traits, text, size))
		json_decref(traits);
	check_fence(text, size);
	kl_error_clear();
	return 0;
}
