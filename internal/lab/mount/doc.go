// Package mount makes a scenario's volumes into mounted file systems, and leaves nothing behind.
//
// Whatever serves a file system must neither die with its user nor be delayed by it. So one
// separate process, the daemon ([Serve]), has all volumes of a scenario, for all machines of a
// cluster. It makes the disks, the block devices and the file systems, reports when they are ready,
// answers requests on a socket, and undoes everything at its end. [Start] starts it and returns a
// [Machine] to control it.
//
// A daemon normally has an owner, the program that started it, and ends when the owner does,
// however that happens. Without an owner ([Options.Detached]) it stays until somebody stops it.
//
// Processes are killed and machines lose power. So the daemon records each thing that outlives a
// process (a mount, a loop device, a kernel setting, a file) before it makes it ([State]). A later
// process can find what a dead one left, and remove it ([Sweep]).
package mount
