/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "backend/cuda/ptx_clock.h"
#include "base/buf.h"
#include "base/mem.h"

/*
 * PTX is what a hostile source made of it. Beside not failing: a special register that stands in a
 * body as a word of its own must be seen, since the audit rests on it.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char mark[] = "\n.visible .entry zz_mark(){mov.u64 %rd1,%globaltimer;ret;}\n";
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *kernel = "zz_mark";
	struct kl_ptx ptx = { 0 };
	const struct kl_ptx_fn *fn;

	kl_buf_add(&text, data, size);
	if (kl_ptx_parse(&ptx, text.ptr, text.len) < 0) {
		MUST(*kl_error_last());
		return 0;
	}
	for (size_t i = 0; i < ptx.nfn; i++) {
		MUST(ptx.fn[i].name[0]);
		if (kl_ptx_clock(&ptx.fn[i]) < 0)
			MUST(*kl_error_last());
	}
	if (ptx.nfn && ptx.fn[0].entry && ptx.fn[0].defined) {
		const char *name = ptx.fn[0].name;

		MUST(kl_ptx_reach(&ptx, &name, 1) == 0 && ptx.fn[0].reached);
	}
	kl_ptx_release(&ptx);
	/* what was read to its end leaves nothing open in which code behind it could hide */
	kl_buf_adds(&text, mark);
	if (kl_ptx_parse(&ptx, text.ptr, text.len) < 0)
		return 0;
	fn = kl_ptx_function(&ptx, kernel);
	if (fn && fn->entry) {
		MUST(kl_strvec_has(&fn->special, "%globaltimer"));
		MUST(kl_ptx_reach(&ptx, &kernel, 1) == 0);
		MUST(kl_ptx_clock(fn) == 0); /* it stores nothing */
	}
	kl_ptx_release(&ptx);
	return 0;
}
