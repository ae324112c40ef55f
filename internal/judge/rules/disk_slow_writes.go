package rules

func diskSlowWrites() Rule {
	r := SymptomRule("disk/slow-writes", "The device's writes are slow",
		"plimsoll:disk_write_await:seconds >= 0.1 and plimsoll:disk_queue:requests >= 0.5",
		"Time from a write's queueing to its completion, as the kernel counts it. It includes waiting in the device's own queue, which on a rented volume is where a cap makes requests wait.")
	r.Needs = []*Signal{DiskWriteAwait}
	return r
}

func diskSlowReads() Rule {
	r := SymptomRule("disk/slow-reads", "The device's reads are slow",
		"plimsoll:disk_read_await:seconds >= 0.1 and plimsoll:disk_queue:requests >= 0.5",
		"Time from a read's queueing to its completion, as the kernel counts it. A read waits behind whatever fills the device's queue, and somebody waits for nearly every read.")
	r.Needs = []*Signal{DiskReadAwait}
	return r
}
