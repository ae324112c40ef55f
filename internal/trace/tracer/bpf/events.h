// The records that the programs produce, one per event. internal/trace/tracer/decode.go reads them:
// all fields are little-endian and naturally aligned.
#pragma once
#include "kernel.h"

enum { EVENT_CALL = 1, EVENT_WAIT, EVENT_REQUEST, EVENT_COMMIT, EVENT_HANDLE, EVENT_INODE };

#define COMM 16
#define FRAMES 24
#define NAMES 6
#define NAME 48

// A thread's name, in words so that it is copied with two instructions.
struct name {
	u64 part[COMM / 8];
};

// A system call that took long.
struct call_event {
	u32 type, kind;
	u32 tgid, tid;
	u64 enter, exit;
	s64 result;
	u64 inode;
	u32 dev, fd;
	u32 file_flags, magic;
	char comm[COMM];
};

// An interval in which a thread was off its CPU.
struct wait_event {
	u32 type, kthread;
	u32 tgid, tid;
	u64 out, wake, in;
	u64 request; // first time of the request whose completion woke it; 0 if none did
	u32 waker_tgid, waker_tid;
	u32 preempted, frames; // frames: bytes of stack
	char comm[COMM], waker[COMM];
	u64 stack[FRAMES];
};

// A completed request to a block device.
struct request_event {
	u32 type, dev;
	u64 sector;
	u32 bytes, flags;
	u64 alloc, first, issue, done;
	u64 inode;
	u32 inode_dev, inode_magic;
	u32 tgid, tid;
	u32 reason; // for writeback, plus 1; 0 if the submitter was not a flusher
	u32 requeues;
	u32 kthread, alone;
	char comm[COMM];
};

// A commit of ext4's journal.
struct commit_event {
	u32 type, dev;
	u32 transaction, tid;
	u64 start, locking, flushing, logging, end;
};

// A handle that kept its transaction open for a long time.
struct handle_event {
	u32 type, dev;
	u32 transaction, jiffies;
	u32 tgid, tid;
	u64 end;
	char comm[COMM];
};

// A process that dirtied pages of a file, or whose call on it was slow, with the file's name.
struct inode_event {
	u32 type, dev;
	u64 inode, at;
	u32 tgid, tid;
	u32 dirtied, magic;
	char comm[COMM];
	char names[NAMES][NAME]; // the file's name and those of the folders above it
};
