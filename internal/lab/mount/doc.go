// Package mount makes a scenario's volumes into mounted file systems, and leaves nothing behind.
//
// What serves a file system must not die with, nor be held up by, whoever uses it. So a scenario's volumes, of
// all machines of a cluster, live in a process of their own, the daemon ([Serve]): it makes the disks, the block devices and the file systems,
// tells when they are ready, answers questions and takes orders on a socket, and undoes everything at its end.
// [Start] starts it and gives a [Machine] to talk to.
//
// A daemon has an owner, the program that started it, and ends when the owner does, however that
// dies; or it has none ([Options.Detached]) and stays until somebody stops it.
//
// Processes are killed and machines lose power. So each thing that outlives a process, a mount, a loop device, a
// kernel's setting, a file, is written down before it is made ([State]), and whoever comes later can find what
// a dead process has left, and take it away ([Sweep]).
package mount
