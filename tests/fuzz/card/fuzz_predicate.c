/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "card/clause.h"
#include "card/predicate.h"

/* taken apart and put together it says the same, unless the brackets make it too long */
static void check_clauses(const char *text, const struct kl_known *known, enum kl_truth is)
{
	KL_AUTO(kl_clauses_release) struct kl_clauses clauses = { 0 };
	KL_AUTO(kl_predicate_freep) struct kl_predicate *joined = NULL;
	KL_AUTO(kl_freep) bool *keep = NULL;
	KL_AUTO(kl_freep) char *all = NULL;

	MUST(kl_clauses_split(&clauses, text) == 0 && clauses.v.n);
	keep = kl_malloc(clauses.v.n);
	memset(keep, true, clauses.v.n);
	all = kl_clauses_join(&clauses, keep);
	if (kl_predicate_parse(&joined, all, NULL) == 0)
		MUST(kl_predicate_eval(joined, known) == is);
	else
		MUST(strlen(all) > KL_PREDICATE_MAX_TEXT ||
		     strstr(kl_error_last(), "nested deeper"));
}

/* what is decided with little known stays so when more is */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_freep) char *text = kl_strndup((const char *)data, size);
	KL_AUTO(kl_freep) char *negated = kl_asprintf("!(%s)", text);
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL, *other = NULL;
	KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	enum kl_truth before, now;
	size_t at = 0;

	if (kl_predicate_parse(&predicate, text, &at) < 0) {
		MUST(at <= strlen(text));
		kl_error_clear();
		return 0;
	}
	kl_predicate_keys(&keys, predicate);
	before = kl_predicate_eval(predicate, &known);
	for (size_t i = 0; i < keys.n; i++) {
		if (strchr(keys.v[i], '('))
			kl_known_truth(&known, keys.v[i], (i + size) % 2 ? KL_TRUE : KL_FALSE);
		else if (i % 3 == 2)
			kl_known_text(&known, keys.v[i], "f16");
		else
			kl_known_int(&known, keys.v[i], (int64_t)(i * 7919 % 17) - 3);
		now = kl_predicate_eval(predicate, &known);
		MUST(before == KL_UNKNOWN || now == before);
		before = now;
	}
	kl_predicate_explain(&why, predicate, &known);
	check_clauses(text, &known, before);
	if (kl_predicate_parse(&other, negated, NULL) == 0) {
		now = kl_predicate_eval(other, &known);
		MUST(before == KL_UNKNOWN ? now == KL_UNKNOWN :
					    (now == KL_TRUE) == (before == KL_FALSE));
		kl_predicate_relation(predicate, other, &keys);
		kl_predicate_relation(other, predicate, NULL);
	}
	kl_error_clear();
	return 0;
}
