// Package probe gets the events of a trace from the kernel, by eBPF programs on BTF tracepoints.
//
// The programs are in bpf/, in C; `make bpf` compiles them, and the object is part of the
// repository. They see a system call when its thread stops running in it, and filter in the kernel:
// calls of the target's processes (or on the target's file systems), requests to the target's disks,
// and waits of threads in traced calls and of the kernel's own threads. What is fast itself, and ends
// while no traced call has lasted long, is dropped there. The rest goes through a ring of fixed size.
// An event that finds it full is lost, and counted. This process leaves events as they came until a call
// lasts that they may explain, and drops what is too old for one that does.
//
// Nothing is pinned: programs and maps belong to this process and are gone with it, however it
// ends.
package probe
