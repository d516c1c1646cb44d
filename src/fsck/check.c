/* SPDX-License-Identifier: Apache-2.0 */
#include "fsck/check.h"

#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "event/segment.h"
#include "fsck/check_chat.h"
#include "fsck/parts.h"
#include "repo/refs.h"
#include "search/links.h"
#include "walk/opstate.h"

#define WALKS "refs/heads/klineage/walk/"
#define LINEAGES "refs/heads/klineage/lineage/"
#define REJECTED "refs/klineage/rejected/"
#define CAMPAIGNS KL_SEGMENT_REFS
#define SEARCHES KL_CELL_REFS
#define TRANSPLANTS "refs/klineage/transplant/"

void kl_check_report(struct kl_checker *checker, enum kl_check_severity severity, const char *where,
		     const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&message, fmt, ap);
	va_end(ap);
	if (severity == KL_CHECK_ERROR)
		checker->c->errors++;
	else
		checker->c->warnings++;
	if (checker->c->report)
		checker->c->report(severity, where, message.ptr, checker->c->payload);
}

void kl_check_report_error(struct kl_checker *checker, const char *where)
{
	kl_check_report(checker, KL_CHECK_ERROR, where, "%s", kl_error_last());
	kl_error_clear();
}

void kl_check_short(char out[KL_OID_HEX], const git_oid *oid)
{
	kl_oid_hex(out, oid);
	out[12] = '\0';
}

/*
 * Split the name of a ref, "<prefix><workload>/<name>"; the caller frees both parts. If the name
 * has another form, report an error and return false.
 */
static bool split_ref(char **workload, char **name, struct kl_checker *checker, const char *ref,
		      const char *prefix)
{
	const char *rest = ref + strlen(prefix), *slash = strchr(rest, '/');

	*workload = kl_strndup(rest, slash ? (size_t)(slash - rest) : strlen(rest));
	*name = kl_strdup(slash ? slash + 1 : "");
	if (slash && kl_slug_ok(*workload) && kl_slug_ok(*name))
		return true;
	kl_check_report(checker, KL_CHECK_ERROR, ref, "not named <workload>/<name>");
	return false;
}

static int each_ref(struct kl_checker *checker, const char *prefix)
{
	struct kl_ref_list list = { 0 };
	int err = kl_refs_list(&list, checker->c->repo, prefix);

	for (size_t i = 0; !err && i < list.n; i++) {
		KL_AUTO(kl_freep) char *workload = NULL;
		KL_AUTO(kl_freep) char *name = NULL;
		const struct kl_ref *ref = &list.ref[i];

		if (!split_ref(&workload, &name, checker, ref->name, prefix))
			continue;
		if (!strcmp(prefix, WALKS))
			kl_check_walk(checker, ref->name, &ref->oid, workload);
		else if (!strcmp(prefix, LINEAGES))
			kl_check_lineage(checker, ref->name, &ref->oid, workload, name);
		else if (!strcmp(prefix, CAMPAIGNS))
			kl_check_campaign(checker, ref->name, &ref->oid, workload);
		else if (!strcmp(prefix, SEARCHES))
			kl_check_search(checker, ref->name);
		else if (!strcmp(prefix, TRANSPLANTS))
			kl_check_transplant(checker, ref->name, &ref->oid, workload, name);
		else
			kl_check_rejected(checker, ref->name, &ref->oid);
	}
	kl_ref_list_release(&list);
	return err;
}

static void found_in_chat(bool error, const char *where, const char *what, void *payload)
{
	kl_check_report(payload, error ? KL_CHECK_ERROR : KL_CHECK_WARNING, where, "%s", what);
}

static int check_chat(struct kl_checker *checker)
{
	struct kl_chat_check check = { .repo = checker->c->repo,
				       .report = found_in_chat,
				       .payload = checker };
	int err = kl_chat_check(&check);

	checker->c->conversations = check.conversations;
	checker->c->ledgers = check.ledgers;
	return err;
}

static int check_operation(struct kl_checker *checker)
{
	struct kl_opstate op;
	int err = kl_opstate_load(&op, checker->c->repo);

	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0)
		kl_check_report_error(checker, op.ref);
	else
		kl_check_report(checker, KL_CHECK_WARNING, op.ref,
				"an operation is in progress; see 'git klineage deopt --status'");
	kl_opstate_release(&op);
	return 0;
}

int kl_check_run(struct kl_check *check)
{
	struct kl_checker checker = { .c = check };
	int err;

	if (!(err = each_ref(&checker, WALKS)) && !(err = each_ref(&checker, LINEAGES)) &&
	    !(err = each_ref(&checker, REJECTED)) && !(err = each_ref(&checker, CAMPAIGNS)) &&
	    !(err = each_ref(&checker, TRANSPLANTS)) && !(err = kl_check_logs(&checker)) &&
	    !(err = kl_check_events(&checker)) && !(err = each_ref(&checker, SEARCHES)) &&
	    !(err = kl_check_studies(&checker)) && !(err = kl_check_memories(&checker)) &&
	    !(err = check_chat(&checker)))
		err = check_operation(&checker);
	kl_map_release(&checker.cited);
	kl_trust_release(&checker.signed_);
	kl_strvec_release(&checker.signed_at);
	kl_strvec_release(&checker.citing);
	kl_strvec_release(&checker.digests);
	return err;
}

int kl_check_foreign(struct kl_check *check, const char *name, const git_oid *tip)
{
	static const char *const kinds[] = { "lineage/", "rejected/", "campaign/", "transplant/" };
	struct kl_checker checker = { .c = check, .foreign = true };
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *leaf = NULL;
	size_t kind = 0;

	while (kind < KL_ARRAY_SIZE(kinds) && !kl_prefix_has(name, kinds[kind]))
		kind++;
	if (kind == KL_ARRAY_SIZE(kinds))
		return kl_error(KL_EINVALID,
				"'%s' names neither a lineage nor rejected steps, a campaign or "
				"transplants",
				name);
	if (!split_ref(&workload, &leaf, &checker, name, kinds[kind]))
		return 0;
	if (kind == 0)
		kl_check_lineage(&checker, name, tip, workload, leaf);
	else if (kind == 1)
		kl_check_rejected(&checker, name, tip);
	else if (kind == 2)
		kl_check_campaign(&checker, name, tip, workload);
	else
		kl_check_transplant(&checker, name, tip, workload, leaf);
	kl_strvec_release(&checker.digests);
	return 0;
}
