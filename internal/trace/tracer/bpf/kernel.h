// The few fields of kernel structures that the programs read. Accesses are relocated by name when
// the programs are loaded (CO-RE), so order and sizes do not matter here, and one object serves
// kernels 5.10 to 6.x on any little-endian processor.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline)) inline
// Rarely executed code is kept out of line, so that the common path takes less of the CPU's cache.
#define COLD static __attribute__((noinline))

// Map definitions in BTF.
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };

struct task_struct;

// Kernel helpers by their numbers in the user API (uapi/linux/bpf.h).
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*bpf_get_current_comm)(void *to, u32 size) = (void *)16;
static u64 (*bpf_get_current_task)(void) = (void *)35;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_get_task_stack)(void *task, void *to, u32 size, u64 flags) = (void *)141;
static void *(*bpf_task_pt_regs)(struct task_struct *task) = (void *)175;

#define field_exists(field) __builtin_preserve_field_info(field, 2)
// Enumerators have different values in different kernels.
#define enum_exists(type, name) __builtin_preserve_enum_value(*(typeof(type) *)name, 0)
#define enum_value(type, name) __builtin_preserve_enum_value(*(typeof(type) *)name, 1)
#define field_offset(type, field) __builtin_preserve_field_info(((type *)0)->field, 0)
// READ copies a field behind a pointer that the verifier does not trust.
#define READ(to, from) bpf_probe_read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(from)))

#define type_size(type) __builtin_preserve_type_info(*(type *)0, 1)
#define type_id(type) __builtin_btf_type_id(*(type *)0, 1)

// Since 6.2: declares a pointer that the verifier does not trust to be one to a structure whose
// fields it may read directly.
extern void *bpf_rdonly_cast(const void *pointer, u32 type) __attribute__((section(".ksyms")));

// key_of turns a pointer into a number. The verifier only allows the difference of two pointers;
// which one is subtracted does not matter.
static char origin[8];
INLINE u64 key_of(void *pointer)
{
	u64 key = (u64)pointer;
	asm volatile("%0 -= %1" : "+r"(key) : "r"(origin));
	return key;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};
struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};
struct inode;
struct address_space {
	struct inode *host;
};
struct inode {
	u16 i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
	struct hlist_head i_dentry;
	struct address_space i_data;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} d_u;
};
struct path {
	struct dentry *dentry;
};
struct file {
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct task_io_accounting { // if the kernel was built with it
	u64 syscr, syscw;
};
struct thread_struct { // x86
	unsigned long sp;
};
struct task_struct {
	unsigned int flags;
	unsigned int __state; // since 5.14
	s32 pid;
	s32 tgid;
	u64 start_time;
	char comm[16];
	struct files_struct *files;
	void *stack;
	struct task_io_accounting ioac;
	struct thread_struct thread;
};
struct task_struct___514 {
	long state;
};
struct page {
	struct address_space *mapping;
	unsigned long compound_head;
};
struct bio_vec {
	struct page *bv_page;
};
struct bio {
	struct bio_vec *bi_io_vec;
};
struct gendisk {
	int major;
	int first_minor;
};
struct request_queue {
	struct gendisk *disk; // since 5.15
};
struct request {
	struct request_queue *q;
	u32 cmd_flags;
	u32 __data_len;
	u64 __sector;
	struct bio *bio;
	u32 rq_flags;
	u64 start_time_ns;
};
enum bpf_func_id { // since 5.11
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175, // since 5.15
};

enum rqf_flags { // since 6.11
	__RQF_FLUSH_SEQ = 1,
	__RQF_IO_STAT = 2,
};
struct request___515 {
	struct gendisk *rq_disk;
};
struct io_kiocb {
	u8 opcode;
};
struct block_device {
	u32 bd_dev;
};
struct journal_s {
	struct block_device *j_fs_dev;
};
struct transaction_s {
	u32 t_tid;
};
struct bdi_writeback;
enum wb_reason { WB_REASON_BACKGROUND };
struct wb_writeback_work {
	enum wb_reason reason;
};
// The registers at a thread's entry into the kernel.
struct pt_regs___x86 {
	unsigned long r15, r14, r13, r12, bp, bx, r10, ax, dx, si, di, orig_ax, ip, sp;
};
struct pt_regs___arm64 {
	u64 regs[31], sp, pc, orig_x0;
	s32 syscallno;
};

#pragma clang attribute pop
