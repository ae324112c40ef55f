// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "document.h"
#include "oplog.h"

_Atomic uint64_t conflicts; // transactions begun anew

// The oplog's next entry, and its bytes since the start.
static _Atomic uint64_t next_entry = 1, oplog_bytes;

// Entries that may not be committed yet: for each thread a lower bound of its own, 0 if it has none.
static _Atomic uint64_t uncommitted[THREADS_MAX];

// Checkpoints: the first entry that each may lack, and the oplog's bytes then.
enum { MARKS_MAX = 4096 };
static struct { uint64_t entry, bytes; } marks[MARKS_MAX];
static size_t marks_n;

// change writes the document, and says how much of it the write carried.
static int change(struct worker *w, const struct write *op, size_t *carried) {
	WT_CURSOR *c = w->documents;
	uint32_t n = document_size(op->document);
	worker_room(w, (size_t)n + 8);
	*carried = n;
	bool there = false;
	if (op->kind != INSERT) {
		WT_MODIFY edits[EDITS_MAX];
		WT_ITEM old;
		c->set_key(c, (int64_t)op->key);
		int err = c->search(c);
		if (err == 0) err = c->get_value(c, &old);
		if (err != 0 && err != WT_NOTFOUND) return err;
		there = err == 0;
		int k = there ? document_edits(op, old.size, w->buffer, edits) : 0;
		if (k > 0) {
			*carried = 0;
			for (int i = 1; i < k; i++) *carried += edits[i].data.size;
			return c->modify(c, edits, k);
		}
	}
	document_fill(w->buffer, n, op->key, op->seq);
	WT_ITEM item = {.data = w->buffer, .size = n};
	c->set_key(c, (int64_t)op->key);
	c->set_value(c, &item);
	int err = there ? c->update(c) : c->insert(c);
	for (uint32_t i = 0; err == 0 && !there && i < settings.indexes; i++) {
		static const unsigned char entry[UINT16_MAX];
		WT_ITEM value = {.data = entry, .size = index_value()};
		w->indexes[i]->set_key(w->indexes[i], index_key(i, op->key));
		w->indexes[i]->set_value(w->indexes[i], &value);
		err = w->indexes[i]->insert(w->indexes[i]);
	}
	return err;
}

// note puts the write into the oplog. It comes after the change, whose conflicts it is behind: two writes of a
// document stand there in the order in which they were committed.
static int note(struct worker *w, const struct write *op, size_t carried) {
	size_t n = settings.oplog_bytes != 0 ? settings.oplog_bytes : carried + settings.oplog_record;
	if (n < ENTRY_BYTES) n = ENTRY_BYTES;
	worker_room(w, n);
	entry_fill(w->buffer, (uint32_t)n, op);
	if (w->number >= 0) atomic_store(&uncommitted[w->number], atomic_load(&next_entry));
	uint64_t id = atomic_fetch_add(&next_entry, 1);
	atomic_fetch_add(&oplog_bytes, n);
	WT_ITEM item = {.data = w->buffer, .size = n};
	w->oplog->set_key(w->oplog, (int64_t)id);
	w->oplog->set_value(w->oplog, &item);
	return w->oplog->insert(w->oplog);
}

// once tries a write; WT_ROLLBACK asks for another try.
static int once(struct worker *w, const struct write *op, bool noted) {
	size_t carried;
	int err = w->session->begin_transaction(w->session, NULL);
	if (err != 0) return err;
	err = change(w, op, &carried);
	if (err == 0 && noted) err = note(w, op, carried);
	if (err == 0) err = w->session->commit_transaction(w->session, NULL);
	else w->session->rollback_transaction(w->session, NULL);
	if (noted && w->number >= 0) atomic_store(&uncommitted[w->number], 0);
	must(w->session->reset(w->session), "reset"); // cursors hold pages
	return err;
}

int store_write(struct worker *w, const struct write *op) {
	worker_cursors(w);
	int err;
	while ((err = once(w, op, w->oplog != NULL)) == WT_ROLLBACK) {
		atomic_fetch_add(&conflicts, 1);
		sched_yield();
	}
	return err;
}

static WT_CURSOR *open_cursor(struct worker *w, const char *uri) {
	WT_CURSOR *c;
	must(w->session->open_cursor(w->session, uri, NULL, NULL, &c), uri);
	return c;
}

void oplog_mark(struct worker *w) {
	// In this order: whoever takes an entry said so before, so that an entry below what is read first is either
	// committed or found.
	uint64_t from = atomic_load(&next_entry);
	for (int i = 0; i < THREADS_MAX; i++) {
		uint64_t x = atomic_load(&uncommitted[i]);
		if (x != 0 && x < from) from = x;
	}
	if (marks_n == MARKS_MAX) memmove(marks, marks + 1, --marks_n * sizeof *marks);
	marks[marks_n].entry = from;
	marks[marks_n++].bytes = atomic_load(&oplog_bytes);
	WT_CURSOR *marker = open_cursor(w, "table:marker");
	marker->set_key(marker, (int64_t)0);
	marker->set_value(marker, (int64_t)from);
	must(marker->insert(marker), "marker");
	must(marker->close(marker), "marker");
}

void oplog_cut(struct worker *w) {
	uint64_t now = atomic_load(&oplog_bytes);
	size_t k = 0; // marks that lie behind the oplog's size
	while (k < marks_n && now - marks[k].bytes > settings.oplog_size) k++;
	if (k == 0) return;
	uint64_t last = marks[k - 1].entry - 1; // the newest mark at most, and that checkpoint is complete
	memmove(marks, marks + k, (marks_n -= k) * sizeof *marks);
	if (last < 1) return;
	WT_CURSOR *stop = open_cursor(w, "table:oplog");
	stop->set_key(stop, (int64_t)last);
	int err = w->session->truncate(w->session, NULL, NULL, stop, NULL);
	// Another try comes with the next checkpoint; nothing left to cut is fine.
	if (err != 0 && err != WT_ROLLBACK && err != WT_NOTFOUND) must(err, "cut the oplog");
	must(stop->close(stop), "oplog");
}

// read_entries gives up to n entries from an id on, and moves it behind them.
static size_t read_entries(WT_CURSOR *c, int64_t *from, struct write *ops, size_t n) {
	int exact;
	size_t got = 0;
	c->set_key(c, *from);
	int err = c->search_near(c, &exact);
	if (err == 0 && exact < 0) err = c->next(c);
	while (err == 0) {
		WT_ITEM item;
		int64_t id;
		must(c->get_key(c, &id), "oplog");
		must(c->get_value(c, &item), "oplog");
		if (!entry_read(item.data, item.size, &ops[got])) die(1, "oplog entry %lld is none", (long long)id);
		*from = id + 1;
		if (++got == n) break;
		err = c->next(c);
	}
	if (err != 0 && err != WT_NOTFOUND) must(err, "oplog");
	must(c->reset(c), "oplog");
	return got;
}

uint64_t oplog_again(struct worker *w) {
	enum { BATCH = 1024 };
	struct write ops[BATCH];
	WT_CURSOR *marker = open_cursor(w, "table:marker");
	int64_t next = 1;
	marker->set_key(marker, (int64_t)0);
	int err = marker->search(marker);
	if (err == 0) err = marker->get_value(marker, &next);
	if (err != 0 && err != WT_NOTFOUND) must(err, "marker");
	must(marker->close(marker), "marker");

	WT_CURSOR *c = open_cursor(w, "table:oplog");
	uint64_t again = 0;
	size_t n;
	while ((n = read_entries(c, &next, ops, BATCH)) > 0) {
		worker_cursors(w);
		for (size_t i = 0; i < n; i++) must(once(w, &ops[i], false), "do an oplog entry again");
		again += n;
	}
	must(c->close(c), "oplog");
	atomic_store(&next_entry, (uint64_t)next);
	return again;
}
