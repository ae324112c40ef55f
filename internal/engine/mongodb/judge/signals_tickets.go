package judge

// From 8.0 on, tickets are reported under queues.execution. percona/mongodb_exporter has kept the
// earlier names (mongodb_ss_wt_concurrentTransactions...) since 0.42; earlier exporters and FTDC
// name them by their path. The exporter has used the label txn_rw since 2020, while its
// documentation and other exporters use txn_rw_type. So notReads selects the writes by excluding
// "read" in either label, and notWrites selects the reads.
const (
	notReads  = `{txn_rw!="read",txn_rw_type!="read"}`
	notWrites = `{txn_rw!="write",txn_rw_type!="write"}`
)

// only returns the selector for one kind of tickets, "read" or "write".
func only(kind string) string {
	if kind == "read" {
		return notWrites
	}
	return notReads
}

// ticketTime returns the names of the time that operations of a kind spent "Queued" or
// "Processing". 7.0 has one queue without priorities; 8.0 has a queue per priority.
func ticketTime(kind, what string) []string {
	field := "totalTime" + what + "Micros"
	return []string{
		`irate(mongodb_ss_queues_execution_` + kind + `_normalPriority_` + field + `[$w]) / 1e6`,
		`irate(mongodb_ss_wt_concurrentTransactions_` + kind + `_normalPriority_` + field + `[$w]) / 1e6`,
		`sum(irate(mongodb_ss_wt_concurrentTransactions_normalPriority_` + field + only(kind) + `[$w])) / 1e6`,
		`irate(mongodb_ss_wt_concurrentTransactions_` + kind + `_` + field + `[$w]) / 1e6`,
		`sum(irate(mongodb_ss_wt_concurrentTransactions_` + field + only(kind) + `[$w])) / 1e6`,
	}
}

// tickets returns the names of a ticket count of one kind: available, out or totalTickets.
func tickets(kind, what string) []string {
	return []string{
		`mongodb_ss_queues_execution_` + kind + `_` + what,
		`sum(mongodb_ss_queues_execution_` + what + only(kind) + `)`,
		`sum(mongodb_ss_wt_concurrentTransactions_` + what + only(kind) + `)`,
	}
}

// queued maps a kind of operations to its name in globalLock.currentQueue.
var queued = map[string]string{"read": "readers", "write": "writers"}

// ticketQueueLength returns the names of the number of operations queued for a ticket. Versions
// without it also count operations that queue for a lock (globalLock.currentQueue).
func ticketQueueLength(kind string) []string {
	return []string{
		`mongodb_ss_queues_execution_` + kind + `_normalPriority_queueLength`,
		`mongodb_ss_wt_concurrentTransactions_` + kind + `_normalPriority_queueLength`,
		`mongodb_ss_wt_concurrentTransactions_` + kind + `_queueLength`,
		`sum(mongodb_ss_globalLock_currentQueue{count_type="` + queued[kind] + `"})`,
	}
}

// Signals of execution tickets: how many operations may be inside the storage engine.
var (
	WriteTicketsAvailable = signal("mongodb_write_tickets_available:count", "", "write tickets free",
		tickets("write", "available")...)
	WriteTickets = signal("mongodb_write_tickets:count", "", "write tickets in total",
		tickets("write", "totalTickets")...)
	WriteTicketsOut = signal("mongodb_write_tickets_out:count", "", "write tickets in use",
		tickets("write", "out")...)
	WriteQueue = signal("mongodb_write_queue:count", "", "writes queued for a ticket",
		ticketQueueLength("write")...)
	ReadTicketsAvailable = signal("mongodb_read_tickets_available:count", "", "read tickets free",
		tickets("read", "available")...)
	ReadTickets = signal("mongodb_read_tickets:count", "", "read tickets in total",
		tickets("read", "totalTickets")...)
	ReadTicketsOut = signal("mongodb_read_tickets_out:count", "", "read tickets in use",
		tickets("read", "out")...)
	ReadQueue = signal("mongodb_read_queue:count", "", "reads queued for a ticket",
		ticketQueueLength("read")...)
)
