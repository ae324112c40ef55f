// Package process runs the engines' programs: as an unprivileged user, in a process group of their
// own, and no longer than this program runs.
//
// A database that outlives its test keeps a volume busy unnoticed, so the kernel is asked to end it
// with us (PR_SET_PDEATHSIG). The kernel ties it to the thread that started the child, not to the
// program, so that thread waits for the child and does nothing else.
//
// Databases refuse to run as root, or should not. If we are root they run as another [User], who
// owns their folders and must be able to reach them ([User.Admit]).
//
// [Process.Kill] does what a power loss does to a program: it and all of its descendants end at the
// same moment, before any of them can notice that another one has. (PostgreSQL's processes each
// have a group of their own, and one that sees its sibling die would begin a recovery.)
package process
