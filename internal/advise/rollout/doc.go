// Package rollout carries out a plan, step by step, so that no acknowledged write can be lost.
//
// A [Step] is a value: a precondition, an action, a check, and how to undo it. A [Rollout] runs
// steps in order and stops at the first that fails. Before and after each it writes down where it
// stands ([State]), in one file that is replaced as a whole. So it can be killed at any moment: the
// next run reads the state and continues, or goes back.
//
// # What makes that safe
//
// Each action and each undo can be run again after it was cut off at any point, because it looks at
// what is there and not at what it remembers doing. The state only says which steps were begun.
//
// A log moves with its engine stopped: it is copied to the new volume under another name, every file
// is synced, and the copy is read back from the device and compared by checksums. Then it gets its
// name, and a symbolic link takes the old folder's place in one system call. So at every moment the
// engine's path leads to a whole log or to nothing: never to an empty folder, and never to an old
// log after the engine wrote to the new one. If the volume is not mounted, the link leads nowhere,
// and the engine does not start.
//
// Going back after the engine ran on the new volume is the same move in the other direction. The old
// log is then out of date and is never used again; it is kept only until somebody calls the rollout
// finished.
//
// # What to know before using it
//
// A rollout changes this machine only: members on other machines have rollouts of their own. An
// engine says where its log lies, what stops and starts it, and what it is to be well, by a
// [Procedure]. Changes of a plan that a rollout cannot make are listed, not dropped ([Rollout.Left]).
package rollout
