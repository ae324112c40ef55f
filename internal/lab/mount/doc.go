// Package mount provides a scenario's volumes as mounted file systems, and leaves nothing behind.
//
// A process that serves a file system must neither die with its user nor be delayed by it. So a
// separate process, the daemon ([Serve]), owns all volumes of a scenario, for all machines of a
// cluster. It creates the disks, the block devices and the file systems, reports when they are
// ready, answers requests on a socket, and undoes everything at the end. [Start] starts it and
// returns a [Machine] to control it.
//
// A daemon normally has an owner, the program that started it, and ends when the owner does,
// however that happens. Without an owner ([Options.Detached]) it runs until it is stopped
// explicitly.
//
// Processes get killed and machines lose power. The daemon therefore records everything that
// outlives a process (a mount, a loop device, a kernel setting, a file) before it creates it
// ([State]). A later process can find and remove what a dead one left behind ([Sweep]).
package mount
