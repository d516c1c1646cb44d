/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/signature.h"

#include "base/error.h"

#ifdef KL_NO_FFI
int kl_signature_prepare(struct kl_frame *f, const struct kl_wire *w)
{
	return kl_error(
		KL_ECANNOT,
		"this klineage-worker was built without libffi, so it cannot run kernels in C");
}

void kl_signature_call(const void *frame_arg, uint64_t go)
{
	const struct kl_frame *f = frame_arg;

	if (f->baseline[0].run && (go & KL_WIRE_DO_MASK) == KL_WIRE_CALL)
		f->baseline[f->call->view].run(f->baseline[f->call->view].state);
}
#else
static ffi_type *type_of(enum kl_dtype dtype)
{
	switch (dtype) {
	case KL_F64:
		return &ffi_type_double;
	case KL_F32:
		return &ffi_type_float;
	case KL_F16:
	case KL_BF16:
	case KL_U16:
		return &ffi_type_uint16;
	case KL_I64:
		return &ffi_type_sint64;
	case KL_I32:
		return &ffi_type_sint32;
	case KL_I16:
		return &ffi_type_sint16;
	case KL_I8:
		return &ffi_type_sint8;
	case KL_U64:
		return &ffi_type_uint64;
	case KL_U32:
		return &ffi_type_uint32;
	case KL_U8:
		return &ffi_type_uint8;
	}
	KL_BUG("dtype %d", (int)dtype);
}

/*
 * Return the type that the function returns. If the last argument stands for the return value, set
 * the number of that argument and the value's size in `frame`; otherwise the type is void.
 */
static ffi_type *prepare_returned(struct kl_frame *frame, const struct kl_wire *wire)
{
	uint32_t last = wire->nargs - 1;

	if (!wire->nargs || !wire->arg[KL_WIRE_MAIN][last].returned)
		return &ffi_type_void;
	frame->returned = last;
	frame->nreturned = kl_dtype_bytes(wire->arg[KL_WIRE_MAIN][last].dtype);
	return type_of(wire->arg[KL_WIRE_MAIN][last].dtype);
}

static void add_argument(struct kl_frame *frame, enum kl_dtype dtype, bool tensor,
			 const uint64_t *value)
{
	frame->type[frame->npassed] = tensor ? &ffi_type_pointer : type_of(dtype);
	/* the cast drops a const: libffi only reads the arguments */
	frame->value[frame->npassed++] = (void *)(uintptr_t)value;
	kl_untimed_add(&frame->untimed, tensor ? KL_U64 : dtype, value);
}

static void list_arguments(struct kl_frame *frame, const struct kl_wire *wire)
{
	if (wire->work_bytes[KL_WIRE_MAIN]) {
		add_argument(frame, KL_U64, true, &frame->call->work);
		kl_untimed_add(&frame->prepare, KL_U64, &frame->call->work);
	}
	for (uint32_t i = 0; i < wire->nargs; i++) {
		const struct kl_wire_arg *arg = &wire->arg[KL_WIRE_MAIN][i];

		if (arg->returned)
			continue;
		add_argument(frame, arg->dtype, arg->tensor, &frame->call->store[i]);
		if (!arg->tensor)
			kl_untimed_add(&frame->prepare, arg->dtype, &frame->call->store[i]);
	}
}

int kl_signature_prepare(struct kl_frame *frame, const struct kl_wire *wire)
{
	ffi_type *returned = prepare_returned(frame, wire);

	list_arguments(frame, wire);
	if (ffi_prep_cif(&frame->cif, FFI_DEFAULT_ABI, frame->npassed, returned, frame->type) !=
	    FFI_OK)
		return kl_error(KL_EINVALID, "libffi cannot call a function with these arguments");
	return 0;
}

static void do_nothing(void)
{
}

static bool is_empty(uint64_t go)
{
	return (go & KL_WIRE_DO_MASK) == KL_WIRE_EMPTY;
}

/* A returned value; libffi widens integers to a register. */
union returned {
	ffi_arg integer;
	double f64;
	float f32;
};

/*
 * Store the value as an output. Store only the bytes of its type: the kernel may leave anything in
 * the other bytes of a register that holds a narrower integer.
 */
static void store_returned(void *to, const union returned *value, size_t n)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
		       "an integer's low bytes are first");
	const unsigned char *from = (const unsigned char *)value;

	for (size_t i = 0; i < n; i++)
		((volatile unsigned char *)to)[i] = from[i];
}

/*
 * Call a kernel that returns a value. The value is stored even after an empty call, so that the
 * time of the store is part of the handshake, which is subtracted from other calls.
 */
static __attribute__((noinline)) void call_returning(struct kl_frame *frame, uint64_t go)
{
	union returned value;

	ffi_call(&frame->cif, is_empty(go) ? do_nothing : frame->fn, &value, frame->value);
	store_returned((void *)(uintptr_t)frame->call->store[frame->returned], &value,
		       frame->nreturned);
}

/* Call a function of the adapter, outside the timed call. */
static __attribute__((noinline)) void call_untimed(const struct kl_frame *frame, uint64_t which)
{
	kl_untimed_call(frame->adapter[which - KL_WIRE_PREPARE],
			which == KL_WIRE_PREPARE ? &frame->prepare : &frame->untimed);
}

void kl_signature_call(const void *frame_arg, uint64_t go)
{
	/* libffi's prototype lacks the const, but libffi writes to neither cif nor values */
	struct kl_frame *frame = (struct kl_frame *)(uintptr_t)frame_arg;

	if ((go & KL_WIRE_DO_MASK) >= KL_WIRE_PREPARE)
		call_untimed(frame, go & KL_WIRE_DO_MASK);
	else if (frame->nreturned)
		call_returning(frame, go);
	else if (!frame->baseline[0].run)
		ffi_call(&frame->cif, is_empty(go) ? do_nothing : frame->fn, NULL, frame->value);
	else if (!is_empty(go))
		frame->baseline[frame->call->view].run(frame->baseline[frame->call->view].state);
}
#endif
