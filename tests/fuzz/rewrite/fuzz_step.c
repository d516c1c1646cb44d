/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "rewrite/edits.h"
#include "rewrite/reply/envelope.h"
#include "rewrite/rewriter.h"

/*
 * A step as a JSON document, and its edits on a small kernel: only sources change, each text ends
 * where it says.
 */
static char c_text[] =
	"#define N 4\nstatic int g(int x)\n{\n\treturn x;\n}\n\nvoid f(int *a)\n{\n\ta[0] = g(1);\n}\n";
static struct kl_contract contract = { .entry = (char *)"f" };
static struct kl_file sources[] = {
	{ .path = (char *)"a.c", .mode = 0100644, .data = c_text, .len = sizeof(c_text) - 1 },
};
static const struct kl_surface before = {
	.contract = &contract,
	.dir = (char *)"",
	.file = sources,
	.nfile = 1,
	.contract_file = { .path = (char *)"klineage.yaml", .data = (char *)"", .len = 0 },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_envelope envelope;
	struct kl_file *file;
	size_t n;

	if (!kl_envelope_json(&envelope, (const char *)data, size)) {
		MUST(envelope.kind == KL_ENVELOPE_STEP && envelope.n &&
		     envelope.n <= KL_ENVELOPE_EDITS);
		MUST(kl_envelope_slug(envelope.action) && kl_envelope_locus_ok(envelope.locus) &&
		     !strchr(envelope.why, '\n'));
		if (!kl_edits_apply(&file, &n, &before, &envelope)) {
			MUST(n == 1 && !strcmp(file[0].path, "a.c") &&
			     strlen(file[0].data) == file[0].len);
			MUST(strcmp(file[0].data, c_text));
			kl_edits_free(file, n);
		}
		kl_envelope_release(&envelope);
	}
	kl_error_clear();
	return 0;
}
