/* SPDX-License-Identifier: Apache-2.0 */
/* code_digest - the digest of the code and data that the entry reaches, wherever it lies */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/code.h"
#include "base/map.h"
#include "text/digest.h"

/*
 * The digest of what a kernel does, whatever it is called and wherever it
 * lies: functions in order of first reference, each instruction as text with
 * every address replaced by what is there - function and instruction number (padding is not
 * counted), library symbol, or number of the data piece, whose bytes are hashed
 * at the end. A data piece is the constant (mergeable sections), the string,
 * the symbol's extent, or else the rest of the section.
 */
struct piece {
	size_t obj, sec;
	uint64_t off, len;
};

struct hasher {
	const struct kl_code *c;
	struct kl_digest *d;
	size_t *func_no; /* number of a function + 1 */
	size_t nfunc_no;
	size_t *insn_no; /* number within its function, padding not counted */
	struct piece *piece;
	size_t npiece, alloc;
	struct kl_map known; /* "obj.sec.off" -> number + 1 */
};

static void sized_by_symbol(struct piece *p, const struct kl_object *o, uint64_t *inner)
{
	for (size_t i = 0; i < o->nsym; i++) {
		const struct kl_osym *s = &o->sym[i];

		if (s->sec != (int)p->sec || s->type != STT_OBJECT || !s->size)
			continue;
		if (p->off < s->value || p->off - s->value >= s->size ||
		    s->size > o->sec[p->sec].size - s->value)
			continue;
		*inner = p->off - s->value;
		p->off = s->value;
		p->len = s->size;
		return;
	}
}

/* The piece that holds an offset, and the offset within it. */
static struct piece find_piece(const struct kl_code *c, const struct kl_ref *ref, uint64_t *inner)
{
	const struct kl_object *o = c->obj[ref->obj];
	const struct kl_osec *s = &o->sec[ref->sec];
	struct piece p = { .obj = ref->obj, .sec = ref->sec };

	*inner = 0;
	if (ref->off < 0 || (uint64_t)ref->off >= s->size) {
		/* a pointer before or behind its section: the whole section, and how far */
		*inner = (uint64_t)ref->off;
		p.len = s->size;
		return p;
	}
	p.off = (uint64_t)ref->off;
	p.len = s->size - p.off;
	if (s->flags & SHF_STRINGS && s->data) {
		const void *end = memchr(s->data + p.off, 0, p.len);

		p.len = end ? (uint64_t)((const unsigned char *)end - s->data) + 1 - p.off : p.len;
	} else if ((s->flags & SHF_MERGE) && s->entsize && s->entsize <= s->size) {
		*inner = p.off % s->entsize;
		p.off -= *inner;
		p.len = p.off + s->entsize <= s->size ? s->entsize : s->size - p.off;
	} else {
		sized_by_symbol(&p, o, inner);
	}
	return p;
}

static size_t piece_number(struct hasher *h, const struct piece *p)
{
	char key[80];
	void *known;

	snprintf(key, sizeof(key), "%zu.%zu.%llu", p->obj, p->sec, (unsigned long long)p->off);
	known = kl_map_get(&h->known, key);
	if (known)
		return (size_t)(uintptr_t)known - 1;
	KL_GROW(h->piece, h->npiece + 1, h->alloc);
	h->piece[h->npiece++] = *p;
	kl_map_put(&h->known, key, (void *)(uintptr_t)h->npiece);
	return h->npiece - 1;
}

static void add_ref(struct hasher *h, const struct kl_ref *ref)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct piece p;
	uint64_t inner;

	switch (ref->kind) {
	case KL_REF_NONE:
		return;
	case KL_REF_EXTERN:
		kl_buf_addf(&b, "<%s%+lld>", ref->name, (long long)ref->off);
		break;
	case KL_REF_CODE:
		if (!h->func_no[ref->func])
			h->func_no[ref->func] = ++h->nfunc_no;
		kl_buf_addf(&b, "<f%zu:%zu>", h->func_no[ref->func],
			    ref->insn < h->c->ninsn ? h->insn_no[ref->insn] : (size_t)-1);
		break;
	case KL_REF_DATA:
		p = find_piece(h->c, ref, &inner);
		kl_buf_addf(&b, "<d%zu%+lld>", piece_number(h, &p), (long long)inner);
		break;
	}
	kl_digest_adds(h->d, b.ptr);
}

/* Operands, without what stands for an address. */
static void add_insn(struct hasher *h, size_t f, size_t i)
{
	const struct kl_insn *in = &h->c->insn[i];
	const char *rip = strstr(in->args, "(%rip)");
	struct kl_ref ref;

	kl_code_insn_ref(&ref, h->c, f, i);
	kl_digest_adds(h->d, in->rep ? "rep" : in->lock ? "lock" : "");
	kl_digest_adds(h->d, in->op);
	if (ref.kind != KL_REF_NONE && rip) {
		const char *start = rip;

		while (start > in->args && start[-1] != ',' && start[-1] != '*')
			start--;
		kl_digest_add(h->d, in->args, (size_t)(start - in->args));
		kl_digest_adds(h->d, rip);
	} else if (ref.kind == KL_REF_NONE || !(kl_insn_is_jump(in) || kl_insn_is_call(in))) {
		kl_digest_adds(h->d, in->args);
	}
	add_ref(h, &ref);
}

static void number_insns(struct hasher *h)
{
	for (size_t f = 0; f < h->c->nfunc; f++) {
		size_t no = 0;

		for (size_t i = h->c->func[f].first; i < h->c->func[f].first + h->c->func[f].n;
		     i++) {
			h->insn_no[i] = no;
			no += !kl_insn_is_nop(&h->c->insn[i]);
		}
	}
}

static void add_func(struct hasher *h, size_t f)
{
	const struct kl_func *fn = &h->c->func[f];

	if (!h->func_no[f])
		h->func_no[f] = ++h->nfunc_no;
	kl_digest_adds(h->d, "function");
	for (size_t i = fn->first; i < fn->first + fn->n; i++)
		if (!kl_insn_is_nop(&h->c->insn[i]))
			add_insn(h, f, i);
}

/* Entries of a jump table hold their own offset: what they mean is relative to the table. */
static void add_pointer(struct hasher *h, const struct piece *p, size_t rel)
{
	const struct kl_orel *r = &h->c->obj[p->obj]->rel[rel];
	struct kl_ref ref;

	kl_code_ref(&ref, h->c, p->obj, rel, 0);
	if (r->type == R_X86_64_PC32 && ref.kind != KL_REF_EXTERN) {
		const struct kl_object *o = h->c->obj[p->obj];
		const struct kl_osym *s = &o->sym[r->sym];
		int64_t to = (int64_t)s->value + r->addend - (int64_t)(r->off - p->off);
		size_t f = s->sec >= 0 && to >= 0 ?
				   kl_code_func_at(h->c, p->obj, (size_t)s->sec, (uint64_t)to) :
				   h->c->nfunc;

		if (f < h->c->nfunc)
			ref = (struct kl_ref){ .kind = KL_REF_CODE,
					       .func = f,
					       .insn = kl_code_insn_at(h->c, f, (uint64_t)to) };
	}
	add_ref(h, &ref);
}

static void add_piece(struct hasher *h, size_t k)
{
	struct piece p = h->piece[k];
	const struct kl_object *o = h->c->obj[p.obj];
	const struct kl_osec *s = &o->sec[p.sec];
	char head[64];

	snprintf(head, sizeof(head), "data %llu %d", (unsigned long long)p.len,
		 (s->flags & SHF_WRITE) != 0);
	kl_digest_adds(h->d, head);
	if (s->data)
		kl_digest_add(h->d, s->data + p.off, p.len);
	for (size_t i = kl_object_rel_at(o, p.sec, p.off);
	     i < o->nrel && o->rel[i].sec == p.sec && o->rel[i].off < p.off + p.len; i++)
		add_pointer(h, &p, i);
}

void kl_code_digest(char hex[65], const struct kl_code *c)
{
	struct hasher h = {
		.c = c,
		.d = kl_digest_new(),
		.func_no = kl_calloc(c->nfunc, sizeof(*h.func_no)),
		.insn_no = kl_calloc(c->ninsn, sizeof(*h.insn_no)),
	};

	number_insns(&h);
	for (size_t k = 0; k < c->norder; k++)
		add_func(&h, c->order[k]);
	for (size_t k = 0; k < h.npiece; k++) /* grows while it runs: pieces point at pieces */
		add_piece(&h, k);
	kl_digest_end(h.d, hex);
	free(h.func_no);
	free(h.insn_no);
	free(h.piece);
	kl_map_release(&h.known);
}
