// Package process runs the programs that engines are: as nobody in particular, in a group of their
// own, and no longer than we live.
//
// A database that outlives whoever measures it keeps a volume busy that nobody looks at, so the
// kernel is asked to end it with us (PR_SET_PDEATHSIG). It asks the thread that started the child,
// not the program, so that thread waits for the child and does nothing else.
//
// Databases refuse to be root, or had better not be. Where we are root they run as another [User],
// who owns their folders and must be able to get there ([User.Admit]).
//
// [Process.Kill] is what a loss of power does to a program: it and all it has started are gone at
// once, before any of them can notice that another one is. (PostgreSQL's processes each have a
// group of their own, and one that sees its sibling die would begin a recovery.)
package process
