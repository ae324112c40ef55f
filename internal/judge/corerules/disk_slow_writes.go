package corerules

import "plimsoll/internal/judge/rules"

func diskSlowWrites() rules.Rule {
	r := rules.SymptomRule("disk/slow-writes", "The device's writes are slow",
		"plimsoll:disk_write_await:seconds >= 0.1 and plimsoll:disk_queue:requests >= 0.5",
		"The time from queueing a write to its completion, as the kernel counts it. It includes waiting in the device's own queue, which is where a cap makes requests wait on a cloud volume.")
	r.Needs = []*rules.Signal{rules.DiskWriteAwait}
	return r
}

func diskSlowReads() rules.Rule {
	r := rules.SymptomRule("disk/slow-reads", "The device's reads are slow",
		"plimsoll:disk_read_await:seconds >= 0.1 and plimsoll:disk_queue:requests >= 0.5",
		"The time from queueing a read to its completion, as the kernel counts it. A read waits behind whatever fills the device's queue, and nearly every read blocks a client.")
	r.Needs = []*rules.Signal{rules.DiskReadAwait}
	return r
}
