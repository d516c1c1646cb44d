/* SPDX-License-Identifier: Apache-2.0 */
#include "fsck/check.h"

#include <string.h>

#include "base/error.h"
#include "fsck/check_chat.h"
#include "fsck/parts.h"
#include "repo/refs.h"
#include "walk/opstate.h"

#define WALKS "refs/heads/klineage/walk/"
#define LINEAGES "refs/heads/klineage/lineage/"
#define REJECTED "refs/klineage/rejected/"

void kl_check_say(struct kl_checker *k, enum kl_check_severity s, const char *where,
		  const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	if (s == KL_CHECK_ERROR)
		k->c->errors++;
	else
		k->c->warnings++;
	if (k->c->report)
		k->c->report(s, where, b.ptr, k->c->payload);
}

void kl_check_say_error(struct kl_checker *k, const char *where)
{
	kl_check_say(k, KL_CHECK_ERROR, where, "%s", kl_error_last());
	kl_error_clear();
}

void kl_check_short(char out[KL_OID_HEX], const git_oid *oid)
{
	kl_oid_hex(out, oid);
	out[12] = '\0';
}

/* "<prefix><workload>/<name>": both parts, the caller's; false and a finding otherwise */
static bool split_ref(char **workload, char **name, struct kl_checker *k, const char *ref,
		      const char *prefix)
{
	const char *rest = ref + strlen(prefix), *slash = strchr(rest, '/');

	*workload = kl_strndup(rest, slash ? (size_t)(slash - rest) : strlen(rest));
	*name = kl_strdup(slash ? slash + 1 : "");
	if (slash && kl_slug_ok(*workload) && kl_slug_ok(*name))
		return true;
	kl_check_say(k, KL_CHECK_ERROR, ref, "it is not named <workload>/<name>");
	return false;
}

static int each_ref(struct kl_checker *k, const char *prefix)
{
	struct kl_ref_list list = { 0 };
	int err = kl_refs_list(&list, k->c->repo, prefix);

	for (size_t i = 0; !err && i < list.n; i++) {
		KL_AUTO(kl_freep) char *workload = NULL;
		KL_AUTO(kl_freep) char *name = NULL;
		const struct kl_ref *ref = &list.ref[i];

		if (!split_ref(&workload, &name, k, ref->name, prefix))
			continue;
		if (!strcmp(prefix, WALKS))
			kl_check_walk(k, ref->name, &ref->oid, workload);
		else if (!strcmp(prefix, LINEAGES))
			kl_check_lineage(k, ref->name, &ref->oid, workload, name);
		else
			kl_check_rejected(k, ref->name, &ref->oid);
	}
	kl_ref_list_release(&list);
	return err;
}

static void found_in_chat(bool error, const char *where, const char *what, void *payload)
{
	kl_check_say(payload, error ? KL_CHECK_ERROR : KL_CHECK_WARNING, where, "%s", what);
}

static int check_chat(struct kl_checker *k)
{
	struct kl_chat_check c = { .repo = k->c->repo, .report = found_in_chat, .payload = k };
	int err = kl_chat_check(&c);

	k->c->conversations = c.conversations;
	k->c->ledgers = c.ledgers;
	return err;
}

static int check_operation(struct kl_checker *k)
{
	struct kl_opstate op;
	int err = kl_opstate_load(&op, k->c->repo);

	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0)
		kl_check_say_error(k, op.ref);
	else
		kl_check_say(k, KL_CHECK_WARNING, op.ref,
			     "an operation is in progress: 'git klineage deopt --status'");
	kl_opstate_release(&op);
	return 0;
}

int kl_check_run(struct kl_check *c)
{
	struct kl_checker k = { .c = c };
	int err;

	if (!(err = each_ref(&k, WALKS)) && !(err = each_ref(&k, LINEAGES)) &&
	    !(err = each_ref(&k, REJECTED)) && !(err = kl_check_events(&k)) &&
	    !(err = check_chat(&k)))
		err = check_operation(&k);
	kl_map_release(&k.cited);
	kl_trust_release(&k.signed_);
	kl_strvec_release(&k.signed_at);
	kl_strvec_release(&k.citing);
	kl_strvec_release(&k.digests);
	return err;
}

int kl_check_foreign(struct kl_check *c, const char *name, const git_oid *tip)
{
	struct kl_checker k = { .c = c, .foreign = true };
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *leaf = NULL;
	bool lineage = !strncmp(name, "lineage/", 8);

	if (!lineage && strncmp(name, "rejected/", 9))
		return kl_error(KL_EINVALID, "'%s' is neither a lineage nor rejected steps", name);
	if (!split_ref(&workload, &leaf, &k, name, lineage ? "lineage/" : "rejected/"))
		return 0;
	if (lineage)
		kl_check_lineage(&k, name, tip, workload, leaf);
	else
		kl_check_rejected(&k, name, tip);
	return 0;
}
