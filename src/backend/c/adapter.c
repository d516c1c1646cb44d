/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/adapter.h"

#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "image/symbols.h"

#define MOST_NAMES 8 /* maximum number of functions that a note lists */

const char *const kl_adapter_timed[] = { KL_ADAPTER_CALL, KL_ADAPTER_PREPARE, NULL };
const char *const kl_adapter_untimed[] = { KL_ADAPTER_PACK, KL_ADAPTER_FINISH, NULL };

static bool is_in(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static bool is_global(const struct kl_osym *symbol)
{
	return symbol->sec != KL_SYM_UNDEF && symbol->bind != STB_LOCAL && symbol->name[0];
}

int kl_adapter_filled(const struct kl_file *adapter)
{
	static const char todo[] = "KL_ADAPTER_TODO";

	if (!adapter || !memmem(adapter->data, adapter->len, todo, sizeof(todo) - 1))
		return 0;
	return kl_error(KL_ECANNOT, "the adapter is not written yet: %s found in '%s'", todo,
			adapter->path);
}

bool kl_adapter_has(const struct kl_object *object, const char *name)
{
	for (size_t i = 0; i < object->nsym; i++)
		if (is_global(&object->sym[i]) && !strcmp(object->sym[i].name, name))
			return true;
	return false;
}

/* --- the kernel and the timed half ----------------------------------------------------------- */

/* Check that the kernel's own objects define no function of the adapter, not even a static one. */
static int check_kernel_names(const struct kl_adapter *adapter)
{
	for (size_t k = 0; k + 1 < adapter->n; k++)
		for (size_t i = 0; i < adapter->object[k]->nsym; i++) {
			const struct kl_osym *symbol = &adapter->object[k]->sym[i];

			if (symbol->sec != KL_SYM_UNDEF &&
			    (is_in(kl_adapter_timed, symbol->name) ||
			     is_in(kl_adapter_untimed, symbol->name)))
				return kl_error(KL_ENO,
						"the kernel defines '%s', a function of the "
						"contract's adapter: rename it",
						symbol->name);
		}
	return 0;
}

/*
 * Check that the timed half defines adapter_call, but no function of the untimed half and no
 * unknown global name that begins with "adapter_".
 */
static int check_timed_names(const struct kl_object *timed)
{
	for (size_t i = 0; i < timed->nsym; i++) {
		const struct kl_osym *symbol = &timed->sym[i];

		if (symbol->sec == KL_SYM_UNDEF || is_in(kl_adapter_timed, symbol->name))
			continue;
		if (is_in(kl_adapter_untimed, symbol->name))
			return kl_error(KL_ENO,
					"the adapter defines '%s' where KL_TIMED is 1: it must be "
					"in the half with KL_TIMED 0, without the kernel's headers",
					symbol->name);
		if (is_global(symbol) && kl_prefix_has(symbol->name, "adapter_"))
			return kl_error(KL_ENO,
					"the adapter defines '%s', which is none of adapter_call, "
					"adapter_prepare, adapter_pack and adapter_finish: rename "
					"it, or make it static",
					symbol->name);
	}
	if (!kl_adapter_has(timed, KL_ADAPTER_CALL))
		return kl_error(KL_ENO, "the adapter does not define " KL_ADAPTER_CALL
					" where KL_TIMED is 1");
	return 0;
}

/* Find the sections and symbols that one function of the timed half reaches. */
static void reach_from(struct kl_reached *out, const struct kl_adapter *adapter, const char *name)
{
	const char *const entries[] = { name, NULL };

	kl_reached_find(out, adapter->object, adapter->n, adapter->defined, entries);
}

/* Check that adapter_call reaches the entry, unless no object defines the entry (inlined code). */
static int check_call(const struct kl_adapter *adapter)
{
	KL_AUTO(kl_reached_release) struct kl_reached reached = { .sec = NULL };
	const char *entry = adapter->contract->entry;
	const struct kl_symbol_entry *kernel = kl_symbol_index_find(adapter->defined, entry);
	int sec = kernel ? adapter->object[kernel->obj]->sym[kernel->sym].sec : -1;

	if (sec < 0)
		return 0;
	reach_from(&reached, adapter, KL_ADAPTER_CALL);
	return reached.sec[kernel->obj][sec] ?
		       0 :
		       kl_error(KL_ENO, KL_ADAPTER_CALL " does not call '%s', the entry", entry);
}

/* Check that adapter_prepare calls only those functions of the kernel that the contract lists. */
static int check_prepare(const struct kl_adapter *adapter)
{
	KL_AUTO(kl_reached_release) struct kl_reached reached = { .sec = NULL };
	const struct kl_object *timed = adapter->object[adapter->n - 1];

	if (!kl_adapter_has(timed, KL_ADAPTER_PREPARE))
		return 0;
	reach_from(&reached, adapter, KL_ADAPTER_PREPARE);
	for (size_t i = 0; i < timed->nsym; i++) {
		const struct kl_symbol_entry *to;

		if (timed->sym[i].sec != KL_SYM_UNDEF || !reached.sym[adapter->n - 1][i])
			continue;
		to = kl_symbol_index_find(adapter->defined, timed->sym[i].name);
		if (to && adapter->object[to->obj]->sym[to->sym].type == STT_FUNC &&
		    !kl_strvec_has(&adapter->contract->prepares, to->name))
			return kl_error(KL_ENO,
					KL_ADAPTER_PREPARE " uses '%s', which 'prepares' of the "
							   "contract does not list",
					to->name);
	}
	return 0;
}

int kl_adapter_check(const char **class_, const struct kl_adapter *adapter)
{
	int err = check_kernel_names(adapter);

	*class_ = err ? "cheat" : "compile";
	if (!err)
		err = check_timed_names(adapter->object[adapter->n - 1]);
	if (!err)
		err = check_call(adapter);
	return err ? err : check_prepare(adapter);
}

/* --- the untimed half -------------------------------------------------------------------------- */

static int check_untimed_symbol(const struct kl_osym *symbol)
{
	if (!symbol->name[0] || symbol->type == STT_FILE || symbol->type == STT_SECTION)
		return 0;
	if (symbol->sec == KL_SYM_UNDEF) {
		enum kl_symbol_kind kind = kl_symbol_kind(symbol->name);

		if (!strcmp(symbol->name, "_GLOBAL_OFFSET_TABLE_") ||
		    (kind != KL_SYMBOL_FOREIGN && kind != KL_SYMBOL_ALLOC))
			return 0;
		return kl_error(KL_EINVALID,
				"uses '%s' where KL_TIMED is 0: adapter_pack and adapter_finish "
				"may call mem*, str* and libm, and nothing of the kernel",
				symbol->name);
	}
	if (is_global(symbol) && !is_in(kl_adapter_untimed, symbol->name))
		return kl_error(KL_EINVALID,
				"defines '%s' where KL_TIMED is 0: only adapter_pack and "
				"adapter_finish may be global there; make it static",
				symbol->name);
	return 0;
}

int kl_adapter_check_untimed(const struct kl_object *object, const struct kl_code *code)
{
	struct kl_open_branch open;
	int err = 0;

	for (size_t i = 0; !err && i < object->nsym; i++)
		err = check_untimed_symbol(&object->sym[i]);
	/* refuse calls and jumps through pointers, because the kernel could change the pointer */
	if (!err && kl_code_pointer_branch(&open, code))
		err = kl_error(KL_EINVALID, "'%s' %s, which is not allowed where KL_TIMED is 0",
			       open.func, open.how);
	return err;
}

/* --- notes --------------------------------------------------------------------------------------- */

/* Add the functions in a section of the kernel to `list`, for a note. `n` counts the functions. */
static void add_name(struct kl_buf *list, size_t *n, const struct kl_object *object, size_t sec)
{
	for (size_t i = 0; i < object->nsym; i++) {
		const struct kl_osym *symbol = &object->sym[i];

		if (symbol->type != STT_FUNC || symbol->sec != (int)sec)
			continue;
		if (*n < MOST_NAMES)
			kl_buf_addf(list, "%s%s", *n ? ", " : "", symbol->name);
		++*n;
	}
}

static void note_prepare(struct kl_strvec *out, const struct kl_adapter *adapter)
{
	KL_AUTO(kl_reached_release) struct kl_reached reached = { .sec = NULL };
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	size_t n = 0;

	if (!kl_adapter_has(adapter->object[adapter->n - 1], KL_ADAPTER_PREPARE))
		return;
	reach_from(&reached, adapter, KL_ADAPTER_PREPARE);
	for (size_t k = 0; k + 1 < adapter->n; k++)
		for (size_t i = 0; i < adapter->object[k]->nsec; i++)
			if (reached.sec[k][i] && kl_osec_is_code(&adapter->object[k]->sec[i]))
				add_name(&list, &n, adapter->object[k], i);
	if (n > MOST_NAMES)
		kl_buf_addf(&list, " and %zu more", n - MOST_NAMES);
	if (n)
		kl_strvec_pushf(out,
				"functions of the kernel that run untimed, before any input: %s",
				list.ptr);
}

/* Return true if the instruction is a call, or a jump to another function (a tail call). */
static bool leaves_function(const struct kl_code *code, size_t func, size_t insn)
{
	struct kl_ref to;

	if (kl_insn_is_call(&code->insn[insn]))
		return true;
	if (!kl_insn_is_plain_jump(&code->insn[insn]))
		return false;
	kl_code_branch_target(&to, code, func, insn);
	return to.kind == KL_REF_EXTERN || (to.kind == KL_REF_CODE && to.func != func);
}

/* Return true if the function has a loop and makes calls, but none of the calls is in a loop. */
static bool loops_itself(const struct kl_code *code, size_t func)
{
	const struct kl_func *fn = &code->func[func];
	KL_AUTO(kl_freep) unsigned *depth = kl_calloc(fn->n + 1, sizeof(*depth));
	bool loop = false, call = false;

	if (!kl_code_loops(code, func, depth))
		return false;
	for (size_t i = 0; i < fn->n; i++) {
		bool calls = leaves_function(code, func, fn->first + i);

		if (calls && depth[i])
			return false;
		loop |= depth[i] > 0;
		call |= calls;
	}
	return loop && call;
}

void kl_adapter_notes(struct kl_strvec *out, const struct kl_adapter *adapter,
		      const struct kl_code *code)
{
	note_prepare(out, adapter);
	for (size_t i = 0; i < code->nfunc; i++)
		if (!strcmp(code->func[i].name, KL_ADAPTER_CALL) && loops_itself(code, i))
			kl_strvec_push(out, KL_ADAPTER_CALL
				       " has a loop that does not call the kernel, but whose time "
				       "counts; move such work to adapter_pack or adapter_finish");
}
