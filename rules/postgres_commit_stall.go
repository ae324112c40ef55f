package rules

func postgresCommitStall() Rule {
	return symptom("postgres/commit-stall", "Commits stall", EnginePostgres,
		"plimsoll:postgres_oldest_transaction:seconds >= 0.1 and on() (plimsoll:postgres_commits:rate < 1)",
		"PostgreSQL's exporter tells no latency. It is computed as sessions executing over commits a second; where that cannot be, completions fall under 30 % of the usual while a transaction executes for 100 ms or more. What waits in a pool or a client for a connection is in neither: users wait longer than these figures say.")
}
