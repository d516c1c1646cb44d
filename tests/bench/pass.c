/* SPDX-License-Identifier: Apache-2.0 */
/* pass - reads a source and writes what the token passes named by the arguments make of it */
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "rewrite/pass/tokenpass.h"

#define MAX_SOURCE (4u << 20)

/* Replace `text` by what the pass makes of it, and report the number of places that change. */
static int run_pass(struct kl_buf *text, const char *name)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };
	const struct kl_tokenpass *pass = kl_tokenpass_find(name);
	struct kl_buf out = KL_BUF_INIT;

	if (!pass) {
		fprintf(stderr, "pass: no token pass '%s'\n", name);
		return 129;
	}
	kl_ctoken_lex(&tokens, text->ptr, text->len);
	pass->find(&cedits, &tokens);
	kl_cedits_apply(&out, &tokens, &cedits, NULL, NULL);
	fprintf(stderr, "%s: %d\n", name, cedits.nsite);
	kl_buf_release(text);
	*text = out;
	return 0;
}

int main(int argc, char **argv)
{
	struct kl_buf text = KL_BUF_INIT;
	int err = 0;

	if (kl_buf_read_fd(&text, 0, MAX_SOURCE) < 0) {
		fprintf(stderr, "pass: %s\n", kl_error_last());
		return 128;
	}
	for (int i = 1; i < argc && !err; i++)
		err = run_pass(&text, argv[i]);
	if (!err)
		fwrite(text.ptr, 1, text.len, stdout);
	kl_buf_release(&text);
	return err;
}
