// Package tracer gets the events of a trace from the kernel, with eBPF programs on BTF tracepoints.
//
// The programs are in bpf/, in C; `make bpf` compiles them, and the object is checked in. They see
// a system call when its thread stops running in it, and filter in the kernel: calls by the
// target's processes (or on the target's file systems), requests to the target's disks, and waits
// of threads in traced calls and of kernel threads. Events that are fast themselves, and end while
// no traced call has lasted long, are dropped there. The rest go through a ring of fixed size.
// Events that do not fit are lost and counted. This process keeps events undecoded until a call
// lasts long enough that they may explain it, and drops those that are too old to explain any call
// in progress.
//
// Nothing is pinned: programs and maps belong to this process, and the kernel removes them when it
// exits, for whatever reason.
package tracer
