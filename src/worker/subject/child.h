/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_CHILD_H
#define KL_WORKER_SUBJECT_CHILD_H

/*
 * child - the process that runs a kernel: `klineage-worker --child`, with the descriptors of
 * wire.h. It does no other work: in the end it is killed, or exits with one of these codes.
 */
enum kl_child_exit {
	KL_CHILD_USAGE = 129,
	KL_CHILD_NOT_READY = 70, /* the reason was sent through the socket */
	/* mapping the image or sealing failed; the reason is in the control page, and no byte ran */
	KL_CHILD_NOT_SEALED = 71,
};

int kl_child_main(void);

#endif
