/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/cocci.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"

#define COCCI_TIMEOUT_MS 30000
#define MAX_SOURCE (4u << 20)

static int run_spatch(struct kl_proc_result *res, struct kl_buf *err_text,
		      const struct kl_jail *jail, const char *dir)
{
	KL_AUTO(kl_freep) char *sp = kl_fs_join(dir, "pass.cocci");
	KL_AUTO(kl_freep) char *in = kl_fs_join(dir, "in.c");
	KL_AUTO(kl_freep) char *tmp = kl_asprintf("TMPDIR=%s", dir);
	KL_AUTO(kl_freep) char *home = kl_asprintf("HOME=%s", dir);
	const char *argv[] = { "spatch",
			       "--very-quiet",
			       "--no-includes",
			       "--no-show-diff",
			       "--temp-files",
			       dir,
			       "--sp-file",
			       sp,
			       "--in-place",
			       in,
			       NULL };
	const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", tmp, home, NULL };
	struct kl_jail_run run = {
		.policy = KL_JAIL_COMPILE,
		.argv = argv,
		.workdir = dir,
		.env = env,
		.err = err_text,
		.timeout_ms = COCCI_TIMEOUT_MS,
		.cpu_ms = COCCI_TIMEOUT_MS + 1000,
	};

	return kl_jail_run(res, jail, &run);
}

int kl_cocci_run(struct kl_buf *out, bool *changed, const struct kl_jail *jail, const char *name,
		 const char *patch, size_t patch_len, const char *source, size_t len)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *sp = NULL;
	KL_AUTO(kl_freep) char *in = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf errors = KL_BUF_INIT;
	struct kl_proc_result res;
	int err;

	*changed = false;
	if ((err = kl_cocci_audit(name, patch, patch_len)) < 0 ||
	    (err = kl_fs_tempdir(&dir, "kl-cocci-")) < 0)
		return err;
	sp = kl_fs_join(dir, "pass.cocci");
	in = kl_fs_join(dir, "in.c");
	if ((err = kl_fs_put(sp, patch, patch_len, 0644)) < 0 ||
	    (err = kl_fs_put(in, source, len, 0644)) < 0 ||
	    (err = run_spatch(&res, &errors, jail, dir)) < 0)
		return err;
	if (res.timed_out)
		return kl_error(KL_ETIMEOUT, "semantic patch '%s' ran for more than %d s", name,
				COCCI_TIMEOUT_MS / 1000);
	if (res.exit == 127)
		return kl_error(KL_ECANNOT,
				"spatch (Coccinelle) is not installed; run 'make deps'");
	if (res.exit || res.signal) {
		kl_buf_rtrim(&errors);
		return kl_error(KL_EINVALID, "cannot run semantic patch '%s': %.600s", name,
				*errors.ptr ? errors.ptr : "spatch failed");
	}
	if ((err = kl_fs_read(&text, in, MAX_SOURCE)) < 0)
		return err;
	if (text.len == len && !memcmp(text.ptr, source, len))
		return 0;
	kl_buf_add(out, text.ptr, text.len);
	*changed = true;
	return 0;
}
