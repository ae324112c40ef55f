// Package rollout carries out a plan, step by step, so that no acknowledged write can be lost.
//
// A [Step] has a precondition, an action, a check and an undo. A [Rollout] runs the steps in order and
// stops at the first failure. Before and after each step it saves its progress ([State]) in one file
// that it replaces atomically. So it can be killed at any moment: the next run reads the state and
// continues, or undoes the rollout.
//
// # What makes that safe
//
// Every action and every undo can be repeated after it was interrupted at any point, because it
// inspects the files and processes instead of relying on a record of what it did. The state only says
// which steps were begun.
//
// A log moves while its engine is stopped. The rollout copies it to the new volume under a temporary
// name, syncs every file, reads the copy back from the device and compares checksums. Then it renames
// the copy, and replaces the old folder by a symbolic link in one system call. So at every moment the
// engine's path leads to a complete log or to nothing: never to an empty folder, and never to an old
// log after the engine wrote to the new one. If the volume is not mounted, the link is dangling, and
// the engine does not start.
//
// Undoing a rollout after the engine ran on the new volume is the same move in the other direction.
// The old log is then stale and never used again. It is kept only until the user finishes the rollout.
//
// # What to know before using it
//
// A rollout only changes this machine: members on other machines need their own rollouts. Each engine
// has a [Procedure] that defines where its log is, how to stop and start it, and when it is healthy.
// A rollout lists the plan's changes that it cannot make ([Rollout.Left]) instead of dropping them.
package rollout
