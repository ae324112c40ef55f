package judge

// From 8.0 on tickets are reported under queues.execution. percona/mongodb_exporter names them as
// before since 0.42 (mongodb_ss_wt_concurrentTransactions...), earlier ones and FTDC by their path.
// It labels them txn_rw since 2020, while its documentation and others say txn_rw_type: notReads
// takes what either label leaves, the writes, and notWrites the reads.
const (
	notReads  = `{txn_rw!="read",txn_rw_type!="read"}`
	notWrites = `{txn_rw!="write",txn_rw_type!="write"}`
)

// only is the selector of one kind of tickets, "read" or "write".
func only(kind string) string {
	if kind == "read" {
		return notWrites
	}
	return notReads
}

// ticketTime are the names of a time that operations of a kind spent "Queued" or "Processing". 7.0
// has one queue, without a priority; 8.0 a queue for each priority.
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

// tickets are the names of a count of tickets of a kind: available, out or totalTickets.
func tickets(kind, what string) []string {
	return []string{
		`mongodb_ss_queues_execution_` + kind + `_` + what,
		`sum(mongodb_ss_queues_execution_` + what + only(kind) + `)`,
		`sum(mongodb_ss_wt_concurrentTransactions_` + what + only(kind) + `)`,
	}
}

// queued is what globalLock.currentQueue calls operations of a kind.
var queued = map[string]string{"read": "readers", "write": "writers"}

// ticketQueueLength are the names of the number of operations that queue for a ticket. Versions
// without it count operations that queue for a lock as well (globalLock.currentQueue).
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
	WriteTickets = signal("mongodb_write_tickets:count", "", "write tickets in all",
		tickets("write", "totalTickets")...)
	WriteTicketsOut = signal("mongodb_write_tickets_out:count", "", "write tickets in use",
		tickets("write", "out")...)
	WriteQueue = signal("mongodb_write_queue:count", "", "writes queued for a ticket",
		ticketQueueLength("write")...)
	ReadTicketsAvailable = signal("mongodb_read_tickets_available:count", "", "read tickets free",
		tickets("read", "available")...)
	ReadTickets = signal("mongodb_read_tickets:count", "", "read tickets in all",
		tickets("read", "totalTickets")...)
	ReadTicketsOut = signal("mongodb_read_tickets_out:count", "", "read tickets in use",
		tickets("read", "out")...)
	ReadQueue = signal("mongodb_read_queue:count", "", "reads queued for a ticket",
		ticketQueueLength("read")...)
)
