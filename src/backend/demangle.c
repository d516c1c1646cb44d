/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/demangle.h"

#include <ctype.h>
#include <string.h>

#include "backend/tool.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#define LIST "symbols.txt"
#define MAX_SYMBOL 4096 /* bytes; longer symbols are not translated */
/* maximum number of bytes of one name in a message; a whole message has only a few hundred bytes */
#define MAX_NAME 160

static size_t symbol_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_.$", text[n])))
		n++;
	return n;
}

static bool is_mangled(const char *symbol)
{
	size_t n = strlen(symbol);

	return !strncmp(symbol, "_Z", 2) && n <= MAX_SYMBOL && symbol_length(symbol) == n;
}

static int run_filter(struct kl_buf *out, const struct kl_jail *jail, const char *dir, bool brief)
{
	const char *class_ = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	struct kl_tool tool = {
		.jail = jail, .dir = dir, .prefix = "src/", .class_ = &class_, .log = KL_BUF_INIT
	};
	int err;

	kl_strvec_push(&argv, "c++filt");
	if (brief)
		kl_strvec_push(&argv, "-p");
	kl_strvec_push(&argv, "@" LIST);
	err = kl_tool_run(&tool, &argv, out, "demangling the symbols");
	kl_buf_release(&tool.log);
	return err == KL_ECANNOT ? kl_error_hint(err, "install binutils") : err;
}

int kl_demangle(struct kl_strvec *out, const struct kl_jail *jail, const char *dir,
		const struct kl_strvec *symbols, bool brief)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;
	size_t next = 0;
	int err;

	for (size_t i = 0; i < symbols->n; i++)
		if (is_mangled(symbols->v[i]))
			kl_buf_addf(&list, "%s\n", symbols->v[i]);
	if (list.len) {
		err = kl_tool_put(dir, ".", LIST, list.ptr, list.len);
		if (!err)
			err = run_filter(&text, jail, dir, brief);
		if (err < 0)
			return err;
		kl_strvec_split(&line, text.ptr, "\n");
	}
	for (size_t i = 0; i < symbols->n; i++)
		kl_strvec_push(out, is_mangled(symbols->v[i]) && next < line.n ? line.v[next++] :
										 symbols->v[i]);
	return 0;
}

static void list_symbols(struct kl_strvec *out, const char *text)
{
	for (const char *at = strstr(text, "_Z"); at; at = strstr(at, "_Z")) {
		size_t n = symbol_length(at);

		kl_strvec_take(out, kl_strndup(at, n));
		at += n;
	}
}

int kl_demangle_error(int err, const struct kl_jail *jail, const char *dir)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(err < 0 ? kl_error_last() : "");
	KL_AUTO(kl_strvec_release) struct kl_strvec symbol = KL_STRVEC_INIT, name = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	const char *at = message;

	list_symbols(&symbol, message);
	if (!symbol.n)
		return err;
	if (kl_demangle(&name, jail, dir, &symbol, true) < 0)
		return kl_error(err, "%s", message);
	for (size_t i = 0; i < symbol.n; i++) {
		const char *found = strstr(at, symbol.v[i]);

		kl_buf_addf(&out, "%.*s%.*s", (int)(found - at), at, MAX_NAME, name.v[i]);
		at = found + strlen(symbol.v[i]);
	}
	kl_buf_adds(&out, at);
	return kl_error(err, "%s", out.ptr);
}
