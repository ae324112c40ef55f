// Package process runs the engines' programs: as an unprivileged user, in their own process group,
// and no longer than this program runs.
//
// A database that outlives its test keeps a volume busy unnoticed, so the kernel is asked to end it when this
// program exits (PR_SET_PDEATHSIG). The kernel ties it to the thread that started the child, not to the
// program, so that thread waits for the child and does nothing else.
//
// Databases refuse to run as root, or should not. If we are root, they run as another [User], who
// owns their folders and must have access to them ([User.Admit]).
//
// [Process.Kill] emulates what a power loss does to a program: the process and all its descendants
// end before any of them can notice that another one has. (PostgreSQL's processes each have their
// own group, and one that sees a sibling die would begin a recovery.)
package process
