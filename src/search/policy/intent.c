/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/intent.h"

#include "base/error.h"
#include "base/mem.h"

static const char *const kind_name[] = { "end", "skip", "edit", "note" };

void kl_intent_edit(struct kl_intent *out, const char *role, int64_t parent)
{
	out->kind = KL_TICKET_EDIT;
	out->parent = parent;
	out->tries = 1;
	kl_intent_ask(out, role);
}

void kl_intent_note(struct kl_intent *out, const char *role, int64_t parent)
{
	kl_intent_edit(out, role, parent);
	out->kind = KL_TICKET_NOTE;
	out->tries = 0;
}

void kl_intent_ask(struct kl_intent *intent, const char *role)
{
	if (intent->nrole == KL_INTENT_ROLES)
		KL_BUG("an intent asks more than %d roles", KL_INTENT_ROLES);
	intent->role[intent->nrole++] = role;
}

void kl_intent_show(struct kl_intent *intent, const char *as, int64_t ticket)
{
	KL_GROW(intent->shown, intent->nshown + 1, intent->alloc);
	intent->shown[intent->nshown++] = (struct kl_shown){ .as = as, .ticket = ticket };
}

void kl_intent_release(struct kl_intent *intent)
{
	free(intent->shown);
	json_decref(intent->told);
	*intent = (struct kl_intent){ 0 };
}

json_t *kl_intent_write(const struct kl_intent *intent)
{
	json_t *json = json_object(), *roles = json_array(), *shown = json_array();

	kl_json_set_str(json, "kind", kind_name[intent->kind]);
	kl_json_set_int(json, "parent", intent->parent);
	kl_json_set_int(json, "tries", intent->tries);
	if (intent->form)
		kl_json_set_str(json, "form", intent->form);
	if (intent->told)
		kl_json_set(json, "told", json_incref(intent->told));
	for (size_t i = 0; i < intent->nrole; i++)
		json_array_append_new(roles, json_string(intent->role[i]));
	for (size_t i = 0; i < intent->nshown; i++) {
		json_t *row = json_object();

		kl_json_set_str(row, "as", intent->shown[i].as);
		kl_json_set_int(row, "ticket", intent->shown[i].ticket);
		json_array_append_new(shown, row);
	}
	kl_json_set(json, "roles", roles);
	kl_json_set(json, "shown", shown);
	return json;
}
