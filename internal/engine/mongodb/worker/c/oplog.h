// SPDX-License-Identifier: GPL-2.0-or-later
//
// The oplog: what is done is noted in the same transaction. Documents themselves are not in the
// engine's log then; after a crash they are those of the last checkpoint, and what the oplog has
// since is done again.
#ifndef OPLOG_H
#define OPLOG_H

#include "store.h"

// oplog_again does what the last checkpoint has not, and returns how many entries that were.
uint64_t oplog_again(struct worker *w);
// oplog_mark notes, for the checkpoint about to begin, from where on it may lack something.
void oplog_mark(struct worker *w);
// oplog_cut drops what is over the oplog's size and not needed after the checkpoint that ended.
void oplog_cut(struct worker *w);

// Parts of a worker that transactions use.
void worker_cursors(struct worker *w);
void worker_room(struct worker *w, size_t n); // its buffer has n bytes, with whatever in them
uint64_t index_key(uint32_t i, uint64_t key);
static inline size_t index_value(void) { // beside its key of 8 bytes
	size_t n = settings.index_entry;
	return n < 8 ? 0 : n - 8 > UINT16_MAX ? UINT16_MAX : n - 8;
}

extern _Atomic uint64_t conflicts;

#endif
