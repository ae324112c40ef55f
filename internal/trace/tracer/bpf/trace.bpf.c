// Records what slow system calls waited for, as events. Programs attach to BTF tracepoints only.
// The loader drops programs whose tracepoint the kernel lacks, and, of two variants, the one that
// does not match the tracepoint's signature.
#include "events.h"

char _license[] SEC("license") = "Dual BSD/GPL";
const char _compiler[] SEC("compiler") = __clang_version__;

// Set before loading.
volatile const u64 slow_ns = 20000000;  // faster calls are only counted
volatile const u64 wait_ns = 100000;    // shorter waits are dropped
volatile const u64 early_ns = 2000000;  // waits that end earlier than this in a call are dropped
volatile const u32 early_shift = 19;    // binary logarithm of a quarter to half of early_ns
volatile const u32 early_spans = 5;     // spans of 2^early_shift in early_ns, plus one
volatile const bool by_device = 0;      // trace all processes, on the file systems in fsdevs
volatile const u32 stack_bytes = 16384; // size of a kernel stack, which ends with the registers
volatile const bool check_stacks = 0;   // for a test: compare cached stacks with the kernel's
volatile const u8 kinds[512] = {};      // by system call number; 0: not traced

volatile const u8 ring_kinds[64] = {}; // by io_uring operation; 0: not counted

enum { KIND_FSYNC = 1, KIND_FDATASYNC, KIND_RANGE, KIND_MSYNC, KIND_WRITE, KIND_READ, KIND_SYNC, KIND_COUNT };

#define PF_KTHREAD 0x00200000
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define REQ_OP_MASK 0xff
#define REQ_OP_FLUSH 2
#define REQ_FUA (1 << 17)
#define REQ_PREFLUSH (1 << 18)

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define ONCE_NS 10000000000ull // a file's name is repeated after this time

// A thread in a traced call, or a kernel thread that waits. It is stored in an array, indexed by
// the low bits of its ID: an element costs a few nanoseconds, whereas inserting into and deleting
// from a hash table costs some 200. Two threads that use the same element concurrently count as a
// lost event.
#define THREADS 32768
struct thread {
	u32 tid;
	u16 kind; // of the call; 0: a kernel thread
	u8 counted; // included in in_progress
	u8 synced; // the file system has begun a sync for it
	u64 enter, identity;
	u64 out, wake, in, request; // of the wait
	u32 waker_tgid, waker_tid;
	u16 preempted;
	u16 described; // the fields below are set
	int fd;
	char waker[COMM];
	u64 inode;
	u32 dev, file_flags, magic, pad;
};

enum { IN_CALL = 1, WAITS = 2, BUSY = 3, MET = 4 };
static u8 active[THREADS];

// A thread that started before this time and has not been seen yet may be in the middle of a call.
u64 watched_since;

#define SLOT(tid) ((tid) & (THREADS - 1))
// element indexes an array. The verifier requires a visible bounds check at each use.
#define element(array, index) (*({                          \
	u32 _at = index;                                    \
	asm volatile("" : "+r"(_at));                       \
	&array[_at & (sizeof(array) / sizeof(*array) - 1)]; \
}))
// flags returns what a thread is doing.
#define flags(tid) element(active, tid)

struct inode_seen {
	u64 inode, dev;
	u64 at;
	u32 tgid, pad;
};

#define INODES 8192

// A request in flight, in its own cache line, stored in one of a few adjacent elements of an array.
// Fields that the kernel's own structure still has at completion are read then, if the request
// matters. A free element keeps its key: drivers reuse a fixed set of requests, so the next one at
// the same address is found on the first try.
#define REQUESTS 16384
#define WAYS 4
struct slot {
	u64 key; // from its address
	u64 alloc, issue;
	u64 first; // 0: free
	u32 tgid, tid;
	u32 bytes;
	u8 disk, reason, bits, requeues;
	struct name comm;
};
// Bits: submitted by a kernel thread; alloc is not the creation time; alloc is set later.
enum { KTHREAD = 1, UNTIMED = 2, NEW = 4 };
static struct slot requests[REQUESTS] __attribute__((aligned(64)));

// The running commit of each journal, indexed by the journal's address.
#define JOURNALS 256
struct journal {
	u64 key;
	struct commit_event commit;
};
static struct journal journals[JOURNALS];

// Kernel threads that are flushing, indexed by the low bits of their IDs: the ID, and the reason
// plus 1.
#define FLUSHERS 1024
static u64 flushers[FLUSHERS];

#define DISKS 256
struct disk {
	u64 done; // when a request last completed
	u64 sampled; // when a request that had the disk to itself was last recorded
};
static struct disk disks[DISKS];

struct done {
	u64 at, first;
};
struct count {
	u64 calls, ns, most, lost;
	u64 rings; // submitted through io_uring
};

// Cached stacks: one set for each kind of call, and several for kernel threads.
#define SETS 16
#define STACKS 8 // per set
#define WORDS 512 // deeper stacks are not cached
struct frames {
	u64 address[FRAMES];
};
struct known_stack {
	u32 bytes, frames; // 0 bytes: empty
	u64 stack[FRAMES];
	// Offsets of each address from where the thread sleeps: its first and last possible position.
	// Stale addresses remain in memory that was not overwritten since.
	u16 first[FRAMES], last[FRAMES];
};
struct known_set {
	struct known_stack of[STACKS];
	u64 turn; // the next element to replace
};
// Scratch space for determining these positions.
struct sleeper {
	u64 word[WORDS], stack[FRAMES];
	// In memory and volatile: otherwise the verifier would track each of their values.
	volatile u32 next, words;
};

#define MAP(name, kind, entries, k, v)  \
	struct {                        \
		__uint(type, kind);     \
		__uint(max_entries, entries); \
		__type(key, k);         \
		__type(value, v);       \
	} name SEC(".maps")

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} events SEC(".maps");
MAP(targets, BPF_MAP_TYPE_HASH, 4096, u32, u8); // processes
MAP(devs, BPF_MAP_TYPE_HASH, DISKS, u32, u8); // disks, each with its index in disks
MAP(fsdevs, BPF_MAP_TYPE_HASH, 256, u32, u8);   // file systems
MAP(threads, BPF_MAP_TYPE_ARRAY, THREADS, u32, struct thread);
MAP(inodes, BPF_MAP_TYPE_ARRAY, INODES, u32, struct inode_seen);
MAP(completing, BPF_MAP_TYPE_PERCPU_ARRAY, 1, u32, struct done);
MAP(counts, BPF_MAP_TYPE_PERCPU_ARRAY, KIND_COUNT, u32, struct count);
MAP(sleeper, BPF_MAP_TYPE_PERCPU_ARRAY, 1, u32, struct sleeper);
MAP(stacks, BPF_MAP_TYPE_PERCPU_ARRAY, SETS, u32, struct known_set);

INLINE void lost(void)
{
	u32 zero = 0;
	struct count *c = bpf_map_lookup_elem(&counts, &zero);
	if (c)
		c->lost++;
}

// room reserves a record, or counts it as lost.
#define room(type) ({                                                     \
	void *_p = bpf_ringbuf_reserve(&events, sizeof(struct type), 0);  \
	if (!_p)                                                          \
		lost();                                                   \
	(struct type *)_p;                                                \
})

// Most calls are fast, and nothing that happens alongside them is of interest. So requests, commits
// and waits of kernel threads are recorded only if they took long themselves, or while a traced
// call is old enough to become slow. Calls are counted, by the time at which they began, in spans
// of 2^early_shift ns, from when they first wait until they end: the calls in progress that did not
// begin in the last few spans are old. A call that has lasted for a multiple of all spans looks
// young during a few of them, which is 1/400 of the time.
#define SPANS 2048
#define EARLY_SPANS 5 // maximum of early_spans
u32 in_progress, began[SPANS]; // also read by the tracing process
static u64 last_slow; // when a slow call last ended
u64 last_lasted; // when a call that had reached half the threshold, or one of its waits, last ended

INLINE u32 span(u64 at) { return at >> early_shift & (SPANS - 1); }

INLINE void count(struct thread *t)
{
	if (t->counted)
		return;
	t->counted = 1;
	__sync_fetch_and_add(&began[span(t->enter)], 1);
	__sync_fetch_and_add(&in_progress, 1); // in the other order it would briefly look old
}

INLINE void uncount(struct thread *t)
{
	if (!t->counted)
		return;
	t->counted = 0;
	__sync_fetch_and_add(&in_progress, -1);
	__sync_fetch_and_add(&began[span(t->enter)], -1);
}

// Requests in flight at the end of a slow call complete later.
#define AFTER_NS 300000000ull

#define NOW(variable) (*(volatile u32 *)&(variable))

// all_of returns the number of calls in progress while those of some spans were counted: the
// smaller of two readings, because calls may begin or end on other CPUs in the meantime.
INLINE u32 all_of(u32 before)
{
	u32 after = NOW(in_progress);
	return before < after ? before : after;
}

INLINE bool hot(u64 now)
{
	u32 all = NOW(in_progress), young = 0;
#pragma unroll
	for (int i = 0; i < EARLY_SPANS; i++)
		if (i < early_spans)
			young += NOW(began[(span(now) - i) & (SPANS - 1)]);
	return all_of(all) > young || now - last_slow < AFTER_NS;
}

// matters reports whether something that began at a time and ends now is recorded.
INLINE bool matters(u64 from, u64 now) { return now - from >= early_ns || hot(now); }

// The tracing process polls two to ten times a second. It is woken early only when a call reaches
// half the threshold: it then attaches the program that traces wakeups.
#define ASKED_NS 50000000ull
u8 wakers_watched; // it is attached
static u64 asked;

// urgency returns the wakeup flag for submitting an event.
INLINE u64 urgency(u64 now)
{
	u64 half = slow_ns / 2;
	u32 young = 0, all = NOW(in_progress);
	if (wakers_watched || !all || now - asked < ASKED_NS)
		return BPF_RB_NO_WAKEUP;
	// Half the threshold is 5 times early_ns, which is less than 20 spans.
#pragma unroll
	for (int i = 0; i <= 20; i++)
		if (i <= half >> early_shift)
			young += NOW(began[(span(now) - i) & (SPANS - 1)]);
	if (all_of(all) <= young)
		return BPF_RB_NO_WAKEUP;
	asked = now;
	return BPF_RB_FORCE_WAKEUP;
}

INLINE u32 mix(u64 x) { return x * 0x9e3779b97f4a7c15ull >> 40; }

INLINE bool listed(void *map, u32 key) { return bpf_map_lookup_elem(map, &key) != 0; }

// Most files are on file systems that are not traced, and most calls are by other processes. The
// loader marks the elements of those that are traced, which is cheaper to check than a hash table.
u8 marks[1024], process_marks[1024];

// Caches hits, so that they do not need the hash table again.
static u32 found_systems[64];

INLINE bool watched(u32 dev)
{
	if (!element(marks, mix(dev)))
		return 0;
	if (element(found_systems, mix(dev)) == dev)
		return 1;
	if (!listed(&fsdevs, dev))
		return 0;
	element(found_systems, mix(dev)) = dev;
	return 1;
}

// targeted reports whether calls of a process are traced: all are if files decide.
INLINE bool targeted(u32 tgid)
{
	return by_device || (element(process_marks, mix(tgid)) && listed(&targets, tgid));
}

// place_on returns a disk's index in disks, plus 1; 0 if it is not watched. A disk keeps its index.
static u64 found[64];

INLINE u32 place_on(u32 dev)
{
	u64 last = element(found, mix(dev));
	if (last && last >> 32 == dev)
		return last;
	u8 *disk = bpf_map_lookup_elem(&devs, &dev);
	if (!disk)
		return 0;
	u32 place = *disk + 1;
	element(found, mix(dev)) = (u64)dev << 32 | place;
	return place;
}

// File names

INLINE void named(struct inode_event *e, struct dentry *d)
{
#pragma unroll
	for (int i = 0; i < NAMES; i++) {
		e->names[i][0] = 0;
		struct dentry *parent = 0;
		const unsigned char *name = 0;
		if (!d)
			continue;
		READ(parent, d->d_parent);
		READ(name, d->d_name.name);
		bpf_probe_read_kernel_str(e->names[i], NAME, name);
		if (parent == d)
			parent = 0;
		d = parent;
	}
}

// seen records the name of a file and who uses it (the running thread or another one), unless that
// was done recently.
INLINE void seen(u32 dev, u64 inode, u32 magic, struct dentry *d, struct inode *of, bool dirtied, struct task_struct *who)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	if (who) {
		u32 tgid = 0, tid = 0;
		READ(tgid, who->tgid);
		READ(tid, who->pid);
		id = (u64)tgid << 32 | tid;
	}
	u64 which = (u64)dev << 1 | dirtied;
	u32 at = mix(inode ^ which << 32) & (INODES - 1);
	struct inode_seen *s = bpf_map_lookup_elem(&inodes, &at);
	if (!s)
		return;
	// Two processes that take turns writing to a file are worth a record each second, not for each
	// page.
	if (s->inode == inode && s->dev == which && now - s->at < (s->tgid == id >> 32 ? ONCE_NS : ONCE_NS / 10))
		return;
	s->inode = inode;
	s->dev = which;
	s->at = now;
	s->tgid = id >> 32;
	struct inode_event *e = room(inode_event);
	if (!e)
		return;
	e->type = EVENT_INODE;
	e->dev = dev;
	e->inode = inode;
	e->at = now;
	e->tgid = id >> 32;
	e->tid = id;
	e->dirtied = dirtied;
	e->magic = magic;
	if (who)
		READ(e->comm, who->comm);
	else
		bpf_get_current_comm(e->comm, COMM);
	if (!d && of) {
		struct hlist_node *first = 0;
		READ(first, of->i_dentry.first);
		if (first)
			d = (void *)first - field_offset(struct dentry, d_u);
	}
	named(e, d);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

INLINE int dirtied(struct address_space *mapping)
{
	if (!mapping)
		return 0;
	struct inode *host = mapping->host;
	if (!host)
		return 0;
	u32 dev = host->i_sb->s_dev;
	if (!watched(dev))
		return 0;
	seen(dev, host->i_ino, host->i_sb->s_magic, 0, host, 1, 0);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio") // since 5.18
int dirty_folio(u64 *ctx) { return dirtied((void *)ctx[1]); }

SEC("tp_btf/writeback_dirty_page")
int dirty_page(u64 *ctx) { return dirtied((void *)ctx[1]); }

// System calls
//
// While a tracepoint for system calls is in use, all calls of all processes take a slower path,
// which costs more than all programs here together. So a call is seen only when its thread stops
// running within it: the registers at its entry into the kernel then identify the call. A call that
// never stops running does not wait. A call begins when its thread first stops running, or when the
// file system begins the sync, and ends when the thread runs again for the last time, or when the
// file system ends the sync.

INLINE struct file *file_of(struct task_struct *t, u32 fd, bool typed)
{
	struct files_struct *files = 0;
	struct fdtable *table = 0;
	struct file **all = 0, *f = 0;
	u32 most = 0;
	if (typed) {
		files = t->files;
		if (!files)
			return 0;
		table = files->fdt;
		if (!table)
			return 0;
		most = table->max_fds;
		all = table->fd;
	} else {
		READ(files, t->files);
		READ(table, files->fdt);
		READ(most, table->max_fds);
		READ(all, table->fd);
	}
	if (fd >= most)
		return 0;
	bpf_probe_read_kernel(&f, sizeof(f), all + fd);
	return f;
}

// opened returns the file system and mode of an open file. With a cast it costs half as much.
INLINE bool opened(struct file *f, u32 *dev, u16 *mode, bool cast)
{
	struct inode *i = 0;
	struct super_block *sb = 0;
	if (!f)
		return 0;
	if (cast) {
		f = bpf_rdonly_cast(f, type_id(struct file));
		i = f->f_inode;
		if (!i)
			return 0;
		*mode = i->i_mode;
		sb = i->i_sb;
		if (sb)
			*dev = sb->s_dev;
		return 1;
	}
	READ(i, f->f_inode);
	READ(*mode, i->i_mode);
	READ(sb, i->i_sb);
	READ(*dev, sb->s_dev);
	return 1;
}

struct call {
	u32 kind, fd;
	u64 identity;
};

#define ENOSYS 38
#define REGISTER(to, from)          \
	({                          \
		if (typed)          \
			to = from;  \
		else                \
			READ(to, from); \
	})
// WITH adds a register to an identity.
#define WITH(from)                                                           \
	({                                                                   \
		u64 _v = 0;                                                  \
		REGISTER(_v, from);                                          \
		c->identity = (c->identity + _v) * 0x9e3779b97f4a7c15ull; \
	})

// Offset of the registers on each thread's stack. The kernel helper for it would cost a call for
// each thread that stops running.
static u64 registers;

// in_kind finds the traced call that a thread is in, by the registers at its entry into the kernel.
// The call's identity distinguishes it from other calls: it consists of the arguments, the
// callee-saved registers, which do not change until the call ends, and the number of reads and
// writes that the thread has done.
INLINE bool in_kind(struct task_struct *task, struct call *c, bool typed, bool cast)
{
	struct pt_regs___x86 *x = 0;
	struct pt_regs___arm64 *a = 0;
	if (cast) {
		if (!registers) {
			void *at = bpf_task_pt_regs(task);
			u64 stack = 0, top = 0; // as numbers, which can be subtracted
			READ(stack, task->stack);
			bpf_probe_read_kernel(&top, sizeof(top), &at);
			registers = top - stack;
		}
		x = bpf_rdonly_cast(task->stack + registers, type_id(struct pt_regs___x86));
	} else if (typed) {
		x = bpf_task_pt_regs(task);
	} else {
		void *stack = 0;
		READ(stack, task->stack);
		x = stack + stack_bytes - type_size(struct pt_regs___x86);
	}
	a = (void *)x;
	u64 number = 0, result = 0, first = 0;
	if (field_exists(x->orig_ax)) {
		REGISTER(number, x->orig_ax);
	} else {
		s32 signed_number = 0;
		REGISTER(signed_number, a->syscallno);
		number = (u32)signed_number;
	}
	if (number >= sizeof(kinds)) // interrupted in user mode
		return 0;
	c->kind = kinds[number];
	if (!c->kind)
		return 0;
	c->identity = number;
	if (field_exists(x->orig_ax)) {
		REGISTER(result, x->ax);
		if ((s64)result != -ENOSYS)
			return 0; // the call already has its result
		REGISTER(first, x->di);
		WITH(x->di);
		WITH(x->si);
		WITH(x->dx);
		WITH(x->r10);
		WITH(x->sp);
		WITH(x->ip);
		WITH(x->bp);
		WITH(x->bx);
		WITH(x->r12);
		WITH(x->r13);
		WITH(x->r14);
		WITH(x->r15);
	} else {
		REGISTER(first, a->orig_x0);
		REGISTER(result, a->regs[0]);
		if (result != first)
			return 0; // the call already has its result
		WITH(a->orig_x0);
		WITH(a->regs[1]);
		WITH(a->regs[2]);
		WITH(a->regs[3]);
#pragma unroll
		for (int i = 19; i < 30; i++) // callee-saved
			WITH(a->regs[i]);
		WITH(a->sp);
		WITH(a->pc);
	}
	if (field_exists(task->ioac.syscw)) {
		WITH(task->ioac.syscr);
		WITH(task->ioac.syscw);
	}
	c->fd = c->kind == KIND_MSYNC || c->kind == KIND_SYNC ? -1 : first;
	return 1;
}

// on_file reports whether a call is on a traced file.
INLINE bool on_file(struct task_struct *task, struct call *c, bool typed, bool cast)
{
	u32 dev = 0;
	u16 mode = 0;
	if ((int)c->fd < 0)
		return !by_device;
	if (!opened(file_of(task, c->fd, typed), &dev, &mode, cast))
		return 0;
	if ((mode & S_IFMT) != S_IFREG && (mode & S_IFMT) != S_IFBLK)
		return 0; // a socket, a pipe or a terminal
	return !by_device || watched(dev);
}

INLINE void begin(struct thread *t, u32 tid, struct call *c, u64 now)
{
	if (flags(tid) & BUSY && t->tid != tid)
		lost(); // another thread is using the element
	uncount(t);
	t->tid = tid;
	t->kind = c->kind;
	t->fd = c->fd;
	t->identity = c->identity;
	t->enter = now;
	t->in = now;
	t->synced = 0;
	t->described = 0;
	flags(tid) = IN_CALL | MET;
}

// describe records the file of a call that took long, while it is open.
COLD void describe(struct thread *t, struct task_struct *task)
{
	struct file *f = 0;
	struct inode *i = 0;
	struct super_block *sb = 0;
	struct dentry *d = 0;
	u64 magic = 0;
	if (t->described)
		return;
	t->described = 1;
	t->inode = 0;
	t->dev = 0;
	t->magic = 0;
	t->file_flags = 0;
	if (t->fd < 0)
		return;
	f = file_of(task, t->fd, 0);
	if (!f)
		return; // it was closed in the meantime
	READ(i, f->f_inode);
	READ(t->inode, i->i_ino);
	READ(sb, i->i_sb);
	READ(t->dev, sb->s_dev);
	READ(magic, sb->s_magic);
	t->magic = magic;
	READ(t->file_flags, f->f_flags);
	READ(d, f->f_path.dentry);
	if (d)
		seen(t->dev, t->inode, magic, d, 0, 0, task);
}

// ended ends the running thread's call, and records it if it took long.
COLD void ended(struct thread *t, s64 result)
{
	u64 id = bpf_get_current_pid_tgid(), took = t->in - t->enter;
	u32 kind = t->kind, tid = id;
	flags(tid) &= ~BUSY;
	uncount(t);
	struct count *n = bpf_map_lookup_elem(&counts, &kind);
	if (n) {
		n->calls++;
		n->ns += took;
		if (took > n->most)
			n->most = took;
	}
	if (took < slow_ns || !t->described)
		return;
	struct call_event *e = room(call_event);
	if (!e)
		return;
	e->type = EVENT_CALL;
	e->kind = kind;
	e->tgid = id >> 32;
	e->tid = id;
	e->enter = t->enter;
	e->exit = t->in;
	e->result = result;
	e->inode = t->inode;
	e->dev = t->dev;
	e->fd = t->fd;
	e->file_flags = t->file_flags;
	e->magic = t->magic;
	bpf_get_current_comm(e->comm, COMM);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

// follow returns the traced call in which the running thread stops; 0 if there is none. The
// thread's previous call has ended in that case.
INLINE struct thread *follow(struct task_struct *task, bool cast)
{
	u32 tid = task->pid, at = SLOT(tid);
	struct call c = {};
	if (!targeted(task->tgid))
		return 0;
	bool met = flags(tid) & MET;
	if (!met && watched_since)
		flags(tid) |= MET;
	bool in = in_kind(task, &c, enum_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs), cast);
	if (!in && !(flags(tid) & IN_CALL))
		return 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t)
		return 0;
	if (t->tid == tid && t->kind) {
		bool same = in && t->identity == c.identity;
		if (flags(tid) & IN_CALL) {
			if (same)
				return t;
			ended(t, 0);
		} else if (same && t->synced) {
			return 0; // the file system has ended it, or it began before the trace
		}
	}
	if (!in || !on_file(task, &c, 1, cast))
		return 0;
	begin(t, tid, &c, bpf_ktime_get_ns());
	if (!met && task->start_time < watched_since) {
		t->synced = 1;
		flags(tid) = MET;
		return 0;
	}
	return t;
}

// A file system begins or ends a sync. Such events are rare compared with system calls, and
// distinguish syncs that look alike. Some of them provide the file.

// on_opened is on_file for tracepoints that provide the file.
INLINE bool on_opened(struct file *f, struct call *c)
{
	struct inode *i = f->f_inode;
	if (!i)
		return 0;
	if ((int)c->fd < 0)
		return !by_device;
	return (i->i_mode & S_IFMT) == S_IFREG && (!by_device || watched(i->i_sb->s_dev));
}

INLINE int sync_began(struct task_struct *task, struct file *f, bool typed)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 tid = id, at = SLOT(tid);
	struct call c = {};
	if (!targeted(id >> 32) || !in_kind(task, &c, typed, 0))
		return 0;
	if (c.kind != KIND_FSYNC && c.kind != KIND_FDATASYNC && c.kind != KIND_MSYNC)
		return 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t)
		return 0;
	if (flags(tid) & IN_CALL && t->tid == tid) {
		if (t->identity == c.identity && !t->synced) {
			t->synced = 1;
			return 0; // it has waited before
		}
		ended(t, 0);
	}
	if (f ? !on_opened(f, &c) : !on_file(task, &c, 0, 0))
		return 0;
	begin(t, tid, &c, bpf_ktime_get_ns());
	t->synced = 1;
	return 0;
}

INLINE struct task_struct *current(void) { return (void *)bpf_get_current_task(); }

INLINE int sync_begins(struct file *f)
{
	if (enum_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return sync_began(bpf_get_current_task_btf(), f, 1);
	return sync_began(current(), f, 0);
}

SEC("tp_btf/ext4_sync_file_enter")
int ext4_sync(u64 *ctx) { return sync_begins((void *)ctx[0]); }

SEC("tp_btf/xfs_file_fsync")
int xfs_sync(u64 *ctx) { return sync_begins(0); }

SEC("tp_btf/btrfs_sync_file")
int btrfs_sync(u64 *ctx) { return sync_begins(0); }

SEC("tp_btf/ext4_sync_file_exit")
int ext4_synced(u64 *ctx)
{
	u32 tid = bpf_get_current_pid_tgid(), at = SLOT(tid);
	if (!(flags(tid) & IN_CALL))
		return 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t || t->tid != tid || !t->synced || t->kind == KIND_MSYNC)
		return 0;
	t->in = bpf_ktime_get_ns();
	if (t->in - t->enter >= slow_ns / 2)
		last_lasted = t->in;
	if (t->in - t->enter >= slow_ns) {
		last_slow = t->in;
		describe(t, current());
	}
	ended(t, (s32)ctx[1]);
	return 0;
}

// Operations submitted through io_uring are not system calls: they are only counted.
INLINE int handed_over(u32 operation)
{
	if (operation >= sizeof(ring_kinds))
		return 0;
	u32 kind = ring_kinds[operation];
	if (!kind || !targeted(bpf_get_current_pid_tgid() >> 32))
		return 0;
	struct count *n = bpf_map_lookup_elem(&counts, &kind);
	if (n)
		n->rings++;
	return 0;
}

SEC("tp_btf/io_uring_submit_req") // since 6.3
int ring_request(u64 *ctx) { return handed_over(((struct io_kiocb *)ctx[0])->opcode); }

SEC("tp_btf/io_uring_submit_sqe") // since 5.19
int ring_entry(u64 *ctx) { return handed_over(((struct io_kiocb *)ctx[0])->opcode); }

SEC("tp_btf/io_uring_submit_sqe")
int ring_510(u64 *ctx) { return handed_over((u8)ctx[1]); }

// Threads off their CPU: those in a traced call, and kernel threads that wait for I/O.

INLINE long state_of(struct task_struct *t)
{
	struct task_struct___514 *old = (void *)t;
	if (field_exists(t->__state))
		return t->__state;
	return old->state;
}

// The kernel takes a microsecond or more for each frame of a stack, and most threads sleep where
// one did before. So the positions of the addresses on the stack are cached. Another thread that
// sleeps at the same depth with the same addresses in the same places has the same stack: a
// function that called a different one, or from elsewhere, would have a different address there.
// Code with loops is in separate functions, which the verifier checks only once.

// set_of returns the set in which the stacks of a kind are cached.
INLINE u32 set_of(u32 kind, u32 bytes) { return kind ? kind & (SETS / 2 - 1) : SETS / 2 | (bytes / 8 & (SETS / 2 - 1)); }

// lies reports whether all addresses of a cached stack are at their positions on a sleeping
// thread's stack. For a thread in a system call, there is a gap of random size below the outermost
// address.
__attribute__((noinline)) u32 lies(u32 set, u32 place, u64 sp, u32 bytes)
{
	struct known_set *k = bpf_map_lookup_elem(&stacks, &set);
	if (!k || place >= STACKS)
		return 0;
	struct known_stack *s = &k->of[place];
	for (u32 i = 0; i < FRAMES && i < s->frames; i++) {
		u64 word = 0, from = sp;
		if (i + 1 == s->frames)
			from += (u64)bytes - s->bytes;
		bpf_probe_read_kernel(&word, sizeof(word), (void *)(from + s->first[i]));
		if (word != s->stack[i])
			return 0;
		if (s->last[i] == s->first[i])
			continue;
		bpf_probe_read_kernel(&word, sizeof(word), (void *)(from + s->last[i]));
		if (word != s->stack[i])
			return 0;
	}
	return 1;
}

// known_at finds the cached stack of a sleeping thread and returns its index in the set, plus 1; 0
// if it is not cached.
__attribute__((noinline)) u32 known_at(u32 kind, u64 sp, u32 bytes)
{
	u32 set = set_of(kind, bytes);
	struct known_set *k = bpf_map_lookup_elem(&stacks, &set);
	if (!k)
		return 0;
	for (u32 place = 0; place < STACKS; place++) {
		u32 of = k->of[place].bytes;
		if (of && (kind || of == bytes) && lies(set, place, sp, bytes))
			return place + 1;
	}
	return 0;
}

// learn adds a stack to the cache.
__attribute__((noinline)) u32 learn(u32 kind, u64 sp, u32 bytes, u32 frames)
{
	u32 zero = 0, set = set_of(kind, bytes);
	struct sleeper *w = bpf_map_lookup_elem(&sleeper, &zero);
	struct known_set *k = bpf_map_lookup_elem(&stacks, &set);
	if (!w || !k || !frames || frames > FRAMES || bytes > sizeof(w->word) || bpf_probe_read_kernel(w->word, bytes, (void *)sp))
		return 0;
	struct known_stack *s = &k->of[k->turn++ & (STACKS - 1)];
	s->bytes = 0;
	s->frames = frames;
	bpf_probe_read_kernel(s->stack, sizeof(s->stack), w->stack);
	w->next = 0;
	w->words = bytes / 8;
	for (u32 i = 0; i < WORDS && i < w->words; i++) {
		u32 next = w->next;
		if (next >= FRAMES || next >= frames)
			break;
		if (w->word[i] != s->stack[next])
			continue;
		s->first[next] = i * 8;
		w->next = next + 1;
	}
	if (w->next != frames)
		return 0;
	for (u32 n = 0; n < WORDS && n < w->words; n++) {
		u32 last = w->next - 1, i = w->words - 1 - n;
		if (last >= FRAMES)
			break;
		if (w->word[i & (WORDS - 1)] != s->stack[last])
			continue;
		s->last[last] = i * 8;
		w->next = last;
	}
	s->bytes = bytes;
	return 1;
}

u64 known_right, known_wrong; // compared stacks

COLD void checked(struct task_struct *task, struct sleeper *w, u64 *known, u32 bytes)
{
	bool right = bpf_get_task_stack(task, w->stack, sizeof(w->stack), 0) == bytes;
#pragma unroll
	for (u32 i = 0; i < FRAMES; i++)
		if (i < bytes / 8 && w->stack[i] != known[i])
			right = 0;
	__sync_fetch_and_add(right ? &known_right : &known_wrong, 1);
}

// stack_of reads the stack of a sleeping thread and returns its length in bytes.
INLINE u32 stack_of(struct task_struct *task, u32 kind, u64 *to)
{
	struct sleeper *w = 0;
	u64 sp = 0;
	u32 bytes = 0, zero = 0;
	// Other architectures sign the addresses, or keep the last one elsewhere.
	if (field_exists(((struct pt_regs___x86 *)0)->orig_ax)) {
		sp = task->thread.sp;
		bytes = stack_bytes - (sp & (stack_bytes - 1)); // a stack is aligned to its size
		if (bytes <= WORDS * 8)
			w = bpf_map_lookup_elem(&sleeper, &zero);
		u32 place = w ? known_at(kind, sp, bytes) : 0, set = set_of(kind, bytes);
		struct known_set *k = place ? bpf_map_lookup_elem(&stacks, &set) : 0;
		if (k) {
			struct known_stack *s = &k->of[(place - 1) & (STACKS - 1)];
			*(struct frames *)to = *(struct frames *)s->stack;
			if (check_stacks)
				checked(task, w, s->stack, s->frames * 8);
			return s->frames * 8;
		}
	}
	long n = bpf_get_task_stack(task, to, sizeof(w->stack), 0);
	if (n <= 0)
		return 0;
	if (w) {
		bpf_probe_read_kernel(w->stack, sizeof(w->stack), to);
		learn(kind, sp, bytes, n / 8);
	}
	return n;
}

// came_back records the wait of a thread that is about to run. It has not run yet, so its stack is
// still the one on which it waited.
COLD void came_back(struct task_struct *task, struct thread *t, u64 now)
{
	struct wait_event *e = room(wait_event);
	if (!e)
		return;
	e->type = EVENT_WAIT;
	e->kthread = !t->kind;
	e->tgid = task->tgid;
	e->tid = t->tid;
	e->out = t->out;
	e->wake = t->wake;
	e->in = now;
	e->request = t->request;
	e->waker_tgid = t->waker_tgid;
	e->waker_tid = t->waker_tid;
	e->preempted = t->preempted;
	bpf_probe_read_kernel(e->comm, COMM, task->comm);
	bpf_probe_read_kernel(e->waker, COMM, t->waker);
	e->frames = t->preempted ? 0 : stack_of(task, t->kind, e->stack);
	bpf_ringbuf_submit(e, urgency(now));
}

// leaves notes that a thread stops running.
INLINE void leaves(struct task_struct *task, struct thread *t, bool preempted)
{
	t->out = bpf_ktime_get_ns();
	t->wake = 0;
	t->request = 0;
	t->waker_tgid = 0;
	t->waker_tid = 0;
	t->waker[0] = 0;
	t->preempted = preempted;
	flags((u32)task->pid) |= WAITS;
}

// kernel_leaves notes that a kernel thread waits for I/O.
INLINE void kernel_leaves(struct task_struct *task)
{
	u32 tid = task->pid, at = SLOT(tid);
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t)
		return;
	if (flags(tid) & BUSY && t->tid != tid) {
		lost(); // another thread is using the element
		return;
	}
	t->tid = tid;
	t->kind = 0;
	leaves(task, t, 0);
}

// returns notes that a thread runs again, and records its wait if that is useful.
INLINE void returns(struct task_struct *task)
{
	u32 tid = task->pid, at = SLOT(tid);
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t || t->tid != tid)
		return;
	u64 now = bpf_ktime_get_ns(), age = now - t->enter;
	flags(tid) &= ~WAITS;
	bool early = t->kind && age < early_ns; // waits at the beginning of a call are dropped
	if (t->kind) {
		t->in = now;
		if (early)
			uncount(t);
		if (age >= slow_ns / 2)
			last_lasted = now;
		if (age >= slow_ns) {
			last_slow = now;
			describe(t, task);
		}
	}
	if (now - t->out >= wait_ns && !early && (t->kind || matters(t->out, now)))
		came_back(task, t, now);
}

// idles reports whether a thread stops running outside of a traced call without beginning one: an
// interruptible sleep is a wait for a socket, a pipe, a lock of the program or a timer. File
// systems and block devices wait uninterruptibly. Most threads stop like this.
INLINE bool idles(struct task_struct *task)
{
	u32 tid = task->pid;
	u8 known = flags(tid);
	if (known & IN_CALL || !(state_of(task) & TASK_INTERRUPTIBLE))
		return 0;
	if (!(known & MET) && watched_since && targeted(task->tgid))
		flags(tid) = known | MET;
	return 1;
}

INLINE int switches(u64 *ctx, bool cast)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	if (!(prev->flags & PF_KTHREAD)) {
		struct thread *t = idles(prev) ? 0 : follow(prev, cast);
		if (t) {
			bool ready = preempt || state_of(prev) == 0; // it only waits for a CPU
			if (!ready)
				count(t);
			leaves(prev, t, ready);
		}
	} else if (prev->pid && !preempt && state_of(prev) == TASK_UNINTERRUPTIBLE) {
		kernel_leaves(prev);
	}
	if (next->pid && flags((u32)next->pid) & WAITS)
		returns(next);
	return 0;
}

SEC("tp_btf/sched_switch")
int switched(u64 *ctx) { return switches(ctx, 0); }

SEC("tp_btf/sched_switch") // since 6.2
int switched_cast(u64 *ctx) { return switches(ctx, 1); }

SEC("tp_btf/sched_waking")
int waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = task->pid, at = SLOT(tid), zero = 0;
	if (!(flags(tid) & WAITS))
		return 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &at);
	if (!t || t->tid != tid || t->wake)
		return 0;
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	t->wake = now;
	t->waker_tgid = id >> 32;
	t->waker_tid = id;
	bpf_get_current_comm(t->waker, COMM);
	// The wakeup follows right after the request's completion on the same CPU.
	struct done *d = bpf_map_lookup_elem(&completing, &zero);
	if (d && now - d->at < 200000)
		t->request = d->first;
	return 0;
}

// Requests

INLINE u32 disk_of(struct request *rq)
{
	struct gendisk *disk = 0;
	struct request_queue *q = 0;
	struct request___515 *old = (void *)rq;
	if (field_exists(q->disk)) {
		q = rq->q;
		if (!q)
			return 0;
		disk = q->disk;
	} else {
		disk = old->rq_disk;
	}
	if (!disk)
		return 0;
	return (u32)disk->major << 20 | disk->first_minor;
}

// owned finds the file that a request belongs to, through its first page.
INLINE void owned(struct request_event *e, struct bio *bio)
{
	struct bio_vec *vec = 0;
	struct page *page = 0;
	struct inode *host = 0;
	struct super_block *sb = 0;
	u64 mapping = 0, head = 0;
	if (!bio)
		return;
	vec = bio->bi_io_vec;
	if (!vec)
		return;
	page = vec->bv_page;
	if (!page)
		return;
	READ(head, page->compound_head);
	if (head & 1)
		page = (void *)(head - 1);
	READ(mapping, page->mapping);
	if (!mapping || mapping & 3)
		return; // anonymous memory (direct I/O), or the file system's own memory
	READ(host, ((struct address_space *)mapping)->host);
	// Slab memory has something else at this offset.
	if (!host || (u64)host + field_offset(struct inode, i_data) != mapping)
		return;
	READ(sb, host->i_sb);
	READ(e->inode, host->i_ino);
	READ(e->inode_dev, sb->s_dev);
	READ(e->inode_magic, sb->s_magic);
}

// place_of returns a request's element, otherwise a free one; 0 if there is none.
INLINE struct slot *place_of(u64 key)
{
	u32 first = mix(key) & (REQUESTS - WAYS);
	struct slot *spare = 0;
#pragma unroll
	for (int i = 0; i < WAYS; i++) {
		struct slot *s = &element(requests, first + i);
		if (s->key == key)
			return s;
		if (!s->first)
			spare = s;
	}
	return spare;
}

// submitter stores the running thread as a request's submitter.
INLINE void submitter(struct slot *s)
{
	u32 flags = 0;
	if (enum_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) { // since 5.11
		struct task_struct *t = bpf_get_current_task_btf();
		s->tgid = t->tgid;
		s->tid = t->pid;
		s->comm = *(struct name *)t->comm;
		flags = t->flags;
	} else {
		struct task_struct *t = (void *)bpf_get_current_task();
		u64 id = bpf_get_current_pid_tgid();
		s->tgid = id >> 32;
		s->tid = id;
		bpf_get_current_comm(&s->comm, COMM);
		READ(flags, t->flags);
	}
	s->reason = 0;
	if (flags & PF_KTHREAD) {
		s->bits |= KTHREAD;
		u64 flusher = element(flushers, s->tid);
		if (flusher >> 32 == s->tid)
			s->reason = flusher;
	}
}

// made stores a new request.
INLINE int made(struct request *rq, struct slot *s, u8 bits, bool issued)
{
	u32 disk = place_on(disk_of(rq));
	if (!disk)
		return 0;
	if (!s) {
		lost();
		return 0;
	}
	u64 now = bpf_ktime_get_ns();
	s->key = key_of(rq);
	s->alloc = rq->start_time_ns;
	s->first = now;
	s->issue = issued ? now : 0;
	s->bytes = rq->__data_len;
	s->disk = disk - 1;
	s->bits = bits;
	s->requeues = 0;
	submitter(s);
	return 0;
}

// untimed reports whether a request has no valid time: without I/O accounting (queue/iostats), the
// kernel may leave the time of an earlier request in it (seen on 6.18).
INLINE bool untimed(struct request *rq)
{
	if (!enum_exists(enum rqf_flags, __RQF_IO_STAT))
		return 0;
	return !(rq->rq_flags & 1 << enum_value(enum rqf_flags, __RQF_IO_STAT));
}

// queued notes that a request was created or issued.
INLINE int queued(struct request *rq, bool issued)
{
	u64 key = key_of(rq), alloc = rq->start_time_ns;
	struct slot *s = place_of(key);
	if (s && s->first && s->key == key && (s->alloc == alloc || s->bits & NEW)) {
		s->alloc = alloc;
		s->bits &= ~NEW;
		if (issued) {
			if (!s->issue)
				s->issue = bpf_ktime_get_ns();
			else
				s->requeues++;
			s->bytes = rq->__data_len;
		}
		return 0;
	}
	return made(rq, s, untimed(rq) ? UNTIMED : 0, issued);
}

// merged removes a request that became part of another.
INLINE int merged(struct request *rq)
{
	u64 key = key_of(rq);
	struct slot *s = place_of(key);
	if (s && s->key == key)
		s->first = 0;
	return 0;
}

// Until 5.11 the queue came first.
SEC("tp_btf/block_rq_insert")
int insert_510(u64 *ctx) { return queued((void *)ctx[1], 0); }

SEC("tp_btf/block_rq_issue")
int issue_510(u64 *ctx) { return queued((void *)ctx[1], 1); }

SEC("tp_btf/block_rq_merge")
int merge_510(u64 *ctx) { return merged((void *)ctx[1]); }

// Since 6.3: called before the kernel splits a request with a flush and issues the flush itself. On
// newer kernels (seen on 6.18) the request's time is only set after this, so it is read when the
// request is seen next.
SEC("tp_btf/block_io_start")
int io_start(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	return rq->cmd_flags & (REQ_PREFLUSH | REQ_FUA) ? made(rq, place_of(key_of(rq)), NEW | UNTIMED, 0) : 0;
}

SEC("tp_btf/block_rq_insert")
int insert(u64 *ctx) { return queued((void *)ctx[0], 0); }

SEC("tp_btf/block_rq_issue")
int issue(u64 *ctx) { return queued((void *)ctx[0], 1); }

SEC("tp_btf/block_rq_merge")
int merge(u64 *ctx) { return merged((void *)ctx[0]); }

// Requests that had a disk to themselves show how fast it is; one per interval is enough.
#define SAMPLE_NS 5000000ull

// completed records a request if it matters.
INLINE void completed(struct request *rq, struct slot *s, u64 now)
{
	u32 zero = 0;
	struct disk *disk = &disks[s->disk];
	struct done *d = wakers_watched ? bpf_map_lookup_elem(&completing, &zero) : 0;
	if (d) {
		d->at = now;
		d->first = s->first;
	}
	u64 alloc = s->bits & UNTIMED ? 0 : s->alloc;
	bool alone = s->issue && disk->done <= s->issue, sample = alone && now - disk->sampled >= SAMPLE_NS;
	disk->done = now;
	if (sample)
		disk->sampled = now;
	else if (!matters(alloc && alloc < s->first ? alloc : s->first, now))
		return;
	struct request_event *e = room(request_event);
	if (!e)
		return;
	e->type = EVENT_REQUEST;
	e->dev = disk_of(rq);
	e->sector = rq->__sector;
	e->bytes = s->bytes;
	e->flags = rq->cmd_flags;
	e->alloc = alloc;
	e->first = s->first;
	e->issue = s->issue;
	e->done = now;
	e->tgid = s->tgid;
	e->tid = s->tid;
	e->reason = s->reason;
	e->requeues = s->requeues;
	e->kthread = s->bits & KTHREAD;
	e->alone = alone;
	*(struct name *)e->comm = s->comm;
	e->inode = 0;
	e->inode_dev = 0;
	e->inode_magic = 0;
	owned(e, rq->bio);
	bpf_ringbuf_submit(e, urgency(now));
}

SEC("tp_btf/block_rq_complete")
int complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u32 done = ctx[2];
	u64 key = key_of(rq);
	struct slot *s = place_of(key);
	if (!s || s->key != key || !s->first)
		return 0;
	if (done < rq->__data_len)
		return 0; // only a part of it
	// A write with a flush before or after it completes once for its data and once as a whole. The
	// flush is a separate request.
	u32 flags = 0, sequence = 1 << 4;
	if (enum_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		sequence = 1 << enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	flags = rq->rq_flags;
	if (flags & sequence && (rq->cmd_flags & REQ_OP_MASK) != REQ_OP_FLUSH)
		return 0;
	completed(rq, s, bpf_ktime_get_ns());
	s->first = 0;
	return 0;
}

// Writeback

SEC("tp_btf/writeback_start")
int flush_start(u64 *ctx)
{
	struct wb_writeback_work *work = (void *)ctx[1];
	u32 tid = bpf_get_current_pid_tgid();
	element(flushers, tid) = (u64)tid << 32 | (work->reason + 1);
	return 0;
}

SEC("tp_btf/writeback_written")
int flush_end(u64 *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	if (element(flushers, tid) >> 32 == tid)
		element(flushers, tid) = 0;
	return 0;
}

// The journal of ext4

SEC("tp_btf/jbd2_start_commit")
int commit_start(u64 *ctx)
{
	struct journal_s *j = (void *)ctx[0];
	struct transaction_s *t = (void *)ctx[1];
	u32 dev = j->j_fs_dev->bd_dev;
	if (!watched(dev))
		return 0;
	u64 key = key_of(j);
	struct journal *at = &element(journals, mix(key));
	struct commit_event *c = &at->commit;
	if (c->start && at->key != key)
		lost(); // another journal is using the element
	at->key = key;
	c->type = EVENT_COMMIT;
	c->dev = dev;
	c->transaction = t->t_tid;
	c->tid = bpf_get_current_pid_tgid();
	c->start = bpf_ktime_get_ns();
	c->locking = 0;
	c->flushing = 0;
	c->logging = 0;
	return 0;
}

// commit_of returns the running commit of a journal; 0 if there is none.
INLINE struct commit_event *commit_of(void *journal)
{
	u64 key = key_of(journal);
	struct journal *at = &element(journals, mix(key));
	return at->key == key && at->commit.start ? &at->commit : 0;
}

#define PHASE(name, tracepoint, field)                                     \
	SEC("tp_btf/" tracepoint)                                          \
	int name(u64 *ctx)                                                 \
	{                                                                  \
		struct commit_event *c = commit_of((void *)ctx[0]);                \
		if (c)                                                     \
			c->field = bpf_ktime_get_ns();                     \
		return 0;                                                  \
	}
PHASE(commit_locking, "jbd2_commit_locking", locking)
PHASE(commit_flushing, "jbd2_commit_flushing", flushing)
PHASE(commit_logging, "jbd2_commit_logging", logging)

SEC("tp_btf/jbd2_end_commit")
int commit_end(u64 *ctx)
{
	struct commit_event *c = commit_of((void *)ctx[0]);
	if (!c)
		return 0;
	c->end = bpf_ktime_get_ns();
	struct commit_event *e = matters(c->start, c->end) ? room(commit_event) : 0;
	if (e) {
		*e = *c;
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
	c->start = 0;
	return 0;
}

SEC("tp_btf/jbd2_handle_stats")
int handle_stats(u64 *ctx)
{
	u32 dev = ctx[0], jiffies = ctx[4];
	if (jiffies < 2 || !watched(dev))
		return 0;
	struct handle_event *e = room(handle_event);
	if (!e)
		return 0;
	u64 id = bpf_get_current_pid_tgid();
	e->type = EVENT_HANDLE;
	e->dev = dev;
	e->transaction = ctx[1];
	e->jiffies = jiffies;
	e->tgid = id >> 32;
	e->tid = id;
	e->end = bpf_ktime_get_ns();
	bpf_get_current_comm(e->comm, COMM);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}
