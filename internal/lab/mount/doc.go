// Package mount makes a scenario's volumes into mounted file systems, and leaves nothing behind.
//
// Whatever serves a file system must neither die with its user nor be delayed by it. So a
// scenario's volumes, of all machines of a cluster, are in a process of their own, the daemon
// ([Serve]). It makes the disks, the block devices and the file systems, reports when they are
// ready, answers questions and takes orders on a socket, and undoes everything at its end. [Start]
// starts it and returns a [Machine] to talk to.
//
// A daemon has an owner, the program that started it, and ends when the owner does, however that
// dies. Or it has none ([Options.Detached]) and stays until somebody stops it.
//
// Processes are killed and machines lose power. So each thing that outlives a process (a mount, a
// loop device, a kernel setting, a file) is written down before it is made ([State]). Whoever comes
// later can find what a dead process has left, and remove it ([Sweep]).
package mount
