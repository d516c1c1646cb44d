/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/kernel_names.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/demangle.h"
#include "base/error.h"
#include "contract/prototype.h"

#define VARIABLE "kl_kernel_name" /* name of the declared template of variables */
#define PLACE "kl_kernel_"        /* messages place declaration 0 in the file "kl_kernel_0" */

/* --- declaring the kernels of a plan -------------------------------------------------------- */

static bool is_declared(const char *name)
{
	return name[strcspn(name, "<:(")] && kl_plan_is_cxx_name(name);
}

void kl_kernel_names_declare(struct kl_buf *source, const struct kl_strvec *names)
{
	bool any = false;

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->v[i], *types = kl_plan_cxx_parameters(name);

		if (!is_declared(name))
			continue;
		if (!any)
			kl_buf_adds(source, "\n#line 1 \"" PLACE "\"\n"
					    "template <int kl_number, auto *kl_kernel> "
					    "__device__ char " VARIABLE ";\n");
		any = true;
		kl_buf_addf(source, "#line 1 \"" PLACE "%zu\"\n", i);
		kl_buf_addf(source, "template __device__ char " VARIABLE "<%zu, ", i);
		if (*types)
			kl_buf_addf(source, "static_cast<void (*)%s>(&%.*s)>;\n", types,
				    (int)(types - name), name);
		else
			kl_buf_addf(source, "&%s>;\n", name);
	}
}

/* --- explaining a name that the compiler refuses --------------------------------------------- */

char *kl_kernel_names_explain(const char *message, const struct kl_strvec *names,
			      const struct kl_file *file, size_t nfile)
{
	KL_AUTO(kl_buf_release) struct kl_buf have = KL_BUF_INIT;
	const char *at = strstr(message, PLACE), *what;
	char *end;
	unsigned long number;

	if (!at)
		return NULL;
	number = strtoul(at + strlen(PLACE), &end, 10);
	what = strstr(end, "error");
	what = what ? strstr(what, ": ") : NULL;
	/* nvcc reports a missing instance as an error in a parameter of the declared template */
	if (what && strstr(what, "\"auto\" template parameter"))
		what = ": its template arguments or parameters fit no definition";
	if (end == at + strlen(PLACE) || number >= names->n)
		return NULL;
	kl_proto_list(&have, file, nfile, true);
	return kl_asprintf("the plan launches '%s', which the code does not define%s%s: the code "
			   "has %s",
			   names->v[number], what ? ": " : "", what ? what + 2 : "",
			   have.len ? have.ptr : "no kernel");
}

/* --- finding symbols --------------------------------------------------------------------------- */

/* The symbols of the kernels and declared variables of a cubin, and their full C++ names. */
struct symbols {
	struct kl_strvec symbol, name;
	size_t nkernel; /* number of kernels, which come first */
};

static void symbols_release(struct symbols *symbols)
{
	kl_strvec_release(&symbols->symbol);
	kl_strvec_release(&symbols->name);
}

static int read_symbols(struct symbols *out, const struct kl_cubin *cubin,
			const struct kl_jail *jail, const char *dir)
{
	for (size_t i = 0; i < cubin->nkernel; i++)
		kl_strvec_push(&out->symbol, cubin->kernel[i].name);
	out->nkernel = out->symbol.n;
	for (size_t i = 0; i < cubin->nsym; i++)
		if (cubin->sym[i].type == STT_OBJECT && strstr(cubin->sym[i].name, VARIABLE))
			kl_strvec_push(&out->symbol, cubin->sym[i].name);
	return kl_demangle(&out->name, jail, dir, &out->symbol, false);
}

/*
 * Return the full name of the kernel for which variable `number` was declared. It is a part of the
 * variable's name, "kl_kernel_name<0, &(void tile<8>(float*))>". Return NULL if the variable has
 * another number. The caller frees the name.
 */
static char *declared_name(const char *variable, size_t number)
{
	KL_AUTO(kl_freep) char *begins = kl_asprintf(VARIABLE "<%zu, ", number);
	const char *at = strstr(variable, begins), *end = strrchr(variable, '>');

	if (!at || !end || at + strlen(begins) >= end)
		return NULL;
	at += strlen(begins);
	at += *at == '&';
	if (*at == '(' && end[-1] == ')') {
		at++;
		end--;
	}
	return at < end ? kl_strndup(at, (size_t)(end - at)) : NULL;
}

/* Report that a name can mean two kernels. */
static int refuse_two(const struct symbols *symbols, const char *name, size_t left, size_t right)
{
	return kl_error(KL_ENO,
			"the plan launches '%s', which can mean '%.200s' and '%.200s': name the "
			"types of its parameters",
			name, symbols->name.v[left], symbols->name.v[right]);
}

/*
 * Return true if `variable`, whose name contains `name`, was declared for the kernel. c++filt
 * leaves out the parameters of a function that is in a namespace and is no template. In this case,
 * if `exact` is set, the symbol of the variable must contain the symbol of the kernel.
 */
static bool is_declared_kernel(const struct symbols *symbols, size_t variable, const char *name,
			       size_t kernel, bool exact)
{
	const char *full = symbols->name.v[kernel];
	KL_AUTO(kl_freep) char *part = kl_asprintf("L%sE", symbols->symbol.v[kernel]);
	size_t n = strlen(name);

	if (strncmp(full, name, n) != 0)
		return false;
	return !full[n] || (full[n] == '(' && name[n - 1] != ')' &&
			    (!exact || strstr(symbols->symbol.v[variable], part)));
}

/* Find the kernel that name `number` means, by the variable that was declared for the name. */
static int find_declared(const char **out, const struct symbols *symbols,
			 const struct kl_strvec *names, size_t number)
{
	KL_AUTO(kl_freep) char *name = NULL;
	size_t variable = symbols->nkernel, found = 0, n = 0;

	while (variable < symbols->name.n &&
	       !(name = declared_name(symbols->name.v[variable], number)))
		variable++;
	for (int exact = 1; name && exact >= 0 && !n; exact--)
		for (size_t i = 0; i < symbols->nkernel; i++) {
			if (!is_declared_kernel(symbols, variable, name, i, exact))
				continue;
			if (n++)
				return refuse_two(symbols, names->v[number], found, i);
			found = i;
		}
	*out = n ? symbols->symbol.v[found] : NULL;
	return 0;
}

/* Return true if `full` is a function `name` that is in no namespace, or in an unnamed one. */
static bool is_function(const char *full, const char *name)
{
	static const char unnamed[] = "(anonymous namespace)::";
	size_t n = strlen(name);

	if (!strncmp(full, unnamed, strlen(unnamed)))
		full += strlen(unnamed);
	return !strncmp(full, name, n) && full[n] == '(';
}

/* Find the kernel that is named by the plain identifier `name` in the source. */
static int find_plain(const char **out, const struct symbols *symbols, const char *name)
{
	size_t found = 0, n = 0;

	for (size_t i = 0; i < symbols->nkernel; i++) {
		if (!is_function(symbols->name.v[i], name))
			continue;
		if (n++)
			return refuse_two(symbols, name, found, i);
		found = i;
	}
	*out = n ? symbols->symbol.v[found] : NULL;
	return 0;
}

int kl_kernel_names_find(struct kl_strvec *out, const struct kl_cubin *cubin,
			 const struct kl_strvec *names, const struct kl_jail *jail, const char *dir)
{
	KL_AUTO(symbols_release) struct symbols symbols = { 0 };
	int err = 0;

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->v[i], *symbol = NULL;

		if (!kl_cubin_kernel(cubin, name)) {
			if (!symbols.symbol.n)
				err = read_symbols(&symbols, cubin, jail, dir);
			if (!err && is_declared(name))
				err = find_declared(&symbol, &symbols, names, i);
			else if (!err)
				err = find_plain(&symbol, &symbols, name);
			if (err < 0)
				return err;
		}
		kl_strvec_push(out, symbol ? symbol : name);
	}
	return 0;
}
