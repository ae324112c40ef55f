// Package spare delays the first garbage collection of short-lived programs.
//
// Go starts collecting at 4 MB and sets the next threshold in proportion to the live heap. A
// command that starts with 5 MB and ends within a second is collected three to ten times, which
// costs a fifth to a third of its CPU time. A block of 64 MB that is never touched occupies no
// memory but counts as live, so the first collection happens at 128 MB.
//
// If the address space is limited (ulimit -v), the block would count, so there is none.
//
// The package imports nothing but syscall. Go initializes packages in the order of their paths once their
// imports are initialized, so this one comes before almost all others, and their initialization is
// not collected either.
package spare

// block is never touched.
var block = reserve() //nolint:unused // to be live is its use

func reserve() []byte { //nolint:unused // block uses it
	if limited() {
		return nil
	}
	return make([]byte, 64<<20)
}

// Release restores Go's own thresholds. Commands that run for days call it: for them, memory
// matters more than CPU time.
func Release() { block = nil }
