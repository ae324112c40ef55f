package judge

import "plimsoll/internal/judge/rules"

// Session signals count client backends only. pg_stat_activity also lists autovacuum workers,
// parallel workers and walsenders with a database. backend_type is a column since PostgreSQL 10 and
// a label in postgres_exporter 0.17.0 and later and in the live source. A series without the label
// matches too, because older exporters sum all types.
const (
	clients = `backend_type=~"|client backend"`
	// notQueued leaves out sessions blocked by locks, the WAL or a synchronous standby: however old
	// its transaction, such a session is not a report or a dump (PostgreSQL 10 to 18, "Wait
	// Events").
	notQueued = `wait_event_type!~"Lock|BufferPin",wait_event!~"WAL.*|SyncRep"`
)

// Signals of sessions.
var (
	Active = signal("postgres_active:count",
		"", "executing client sessions (client backends, if the exporter reports backend_type)",
		`sum(pg_stat_activity_count{state="active",`+clients+`})`)
	Sessions = signal("postgres_sessions:count",
		"", "client sessions in any state (client backends, if the exporter reports backend_type)",
		`sum(pg_stat_activity_count{state!="",`+clients+`})`,
		`sum(pg_stat_database_numbackends)`)
	// SessionTypes is measured if sessions are counted by backend_type.
	SessionTypes = signal("postgres_typed_sessions:count", "", "sessions whose backend_type is known",
		`sum(pg_stat_activity_count{backend_type!=""})`)
	// WaitEvents is measured if sessions are counted by wait event: from postgres_exporter 0.17.0
	// on, which added these labels together with backend_type, and by the live source.
	WaitEvents = signal("postgres_wait_events:count",
		"", "sessions whose wait event the exporter reports",
		`sum(pg_stat_activity_count{backend_type!=""} or pg_stat_activity_count{wait_event_type!=""})`)
	// ObserverLeftOut is 1 from postgres_exporter 0.19.0 on, which leaves its own session out.
	ObserverLeftOut = signal("postgres_observer_left_out:bool",
		"", "1 if the exporter does not count its own session",
		`max(postgres_exporter_build_info{version=~"(0\\.(19|[2-9][0-9])|[1-9]).*"})`)
	// Applications are the executing sessions that could be a report or a dump, or a worker that waits all
	// day for an advisory lock because another one has the job.
	Applications = signals.Add(rules.Signal{Name: rules.SignalPrefix + "postgres_application_active:count",
		By:   applicationLabels,
		Help: "executing client sessions that do not wait for a lock, except an advisory one, the WAL or a standby, by database, user and application",
		Exprs: []string{`sum by (datname, usename, application_name) (pg_stat_activity_count{state="active",` +
			clients + `,` + notQueued + `} or pg_stat_activity_count{state="active",` +
			clients + `,wait_event="advisory"})`}})
	ApplicationAge = signals.Add(rules.Signal{Name: rules.SignalPrefix + "postgres_application_age:seconds",
		Unit: "seconds", By: applicationLabels,
		Help: "age of their oldest transaction",
		Exprs: []string{`max by (datname, usename, application_name) (pg_stat_activity_max_tx_duration{state="active",` +
			clients + `,` + notQueued + `} or pg_stat_activity_max_tx_duration{state="active",` +
			clients + `,wait_event="advisory"})`}})
	// LongSessions are counted by the live source, whatever their application is called.
	LongSessions = signal("postgres_long_sessions:count",
		"", "executing client sessions of over 5 s that do not wait for a lock, the WAL or a standby",
		`sum(plimsoll_postgres_long_sessions)`)
	QueuedAge = signal("postgres_queued_age:seconds",
		"seconds", "age of the oldest transaction waiting for a lock, the WAL or a standby",
		`max(pg_stat_activity_max_tx_duration{state="active",`+clients+
			`,wait_event_type=~"Lock|BufferPin"} or pg_stat_activity_max_tx_duration{state="active",`+clients+
			`,wait_event=~"WAL.*|SyncRep"})`)
	// Queued are the sessions of QueuedAge.
	Queued = signal("postgres_queued:count",
		"", "executing client sessions that wait for a lock, the WAL or a standby",
		`sum(pg_stat_activity_count{state="active",`+clients+
			`,wait_event_type=~"Lock|BufferPin"} or pg_stat_activity_count{state="active",`+clients+
			`,wait_event=~"WAL.*|SyncRep"})`)
	// HeldBack leaves advisory locks out: workers wait for one all day while another does the job.
	HeldBack = signal("postgres_held_back:count",
		"", "executing client sessions that wait for a lock, except an advisory one, or a standby",
		`sum(pg_stat_activity_count{state="active",`+clients+
			`,wait_event_type=~"Lock|BufferPin",wait_event!="advisory"} or pg_stat_activity_count{state="active",`+clients+
			`,wait_event="SyncRep"})`)
	// Waiting leaves long sessions out, as the stall detector does: a dump's waits say nothing
	// about commits.
	Waiting = signals.Add(rules.Signal{Name: rules.SignalPrefix + "postgres_waiting:count",
		By:   []string{"wait_event_type", "wait_event"},
		Help: "executing client sessions by wait event; without one, on a CPU",
		Exprs: []string{`sum by (wait_event_type, wait_event) (pg_stat_activity_count{state="active",` + clients +
			`} unless (pg_stat_activity_max_tx_duration{state="active",` +
			clients + `,` + notQueued + `} >= 60 or pg_stat_activity_max_tx_duration{state="active",` +
			clients + `,wait_event="advisory"} >= 60))`,
			`sum by (wait_event_type, wait_event) (pg_stat_activity_count{state="active",` + clients + `})`}})
	LockWaiting = signal("postgres_lock_waiting:count",
		"", "executing client sessions that wait for a lock or a pinned page",
		`sum(pg_stat_activity_count{state="active",`+clients+`,wait_event_type=~"Lock|BufferPin"})`)
	StandbyWaiting = signal("postgres_standby_waiting:count",
		"", "executing client sessions that wait for a synchronous standby",
		`sum(pg_stat_activity_count{state="active",`+clients+`,wait_event="SyncRep"})`)
	ClientWaiting = signal("postgres_client_waiting:count",
		"", "executing client sessions whose client does not read what they send",
		`sum(pg_stat_activity_count{state="active",`+clients+`,wait_event="ClientWrite"})`)
	Checkpointer = signals.Add(rules.Signal{Name: rules.SignalPrefix + "postgres_checkpointer:count",
		By:    []string{"wait_event_type", "wait_event"},
		Help:  "the checkpointer by wait event: CheckpointerMain between checkpoints; without one, on a CPU",
		Exprs: []string{`sum by (wait_event_type, wait_event) (plimsoll_postgres_checkpointer_count)`}})
	OldestTransaction = signal("postgres_oldest_transaction:seconds",
		"seconds", "age of the oldest transaction of an executing client session",
		`max(pg_stat_activity_max_tx_duration{state="active",`+clients+`})`)
	// An exporter has no series for an empty group of sessions: it is 0 if others are counted by
	// type.
	Autovacuum = signal("postgres_autovacuum:count", "", "running autovacuum workers",
		`sum(pg_stat_activity_count{backend_type="autovacuum worker"}) or 0 * sum(pg_stat_activity_count{backend_type!=""})`)
	WraparoundWorkers = signal("postgres_wraparound_workers:count",
		"", "autovacuum workers freezing a table to prevent wraparound",
		`sum(plimsoll_postgres_wraparound_workers)`)
	// SpillWaiting counts sessions of any age and type: reports and their parallel workers spill,
	// too.
	SpillWaiting = signal("postgres_spill_waiting:count",
		"", "sessions waiting for reads and writes of temporary files",
		`sum(pg_stat_activity_count{wait_event=~"BufFile.*"}) or 0 * sum(pg_stat_activity_count{backend_type!=""})`)
	IdleInTransaction = signal("postgres_idle_in_transaction:count",
		"", "sessions idle in a transaction, which keep their locks",
		`sum(pg_stat_activity_count{state=~"idle in transaction.*"})`)
	IdleInTransactionAge = signal("postgres_idle_in_transaction_age:seconds",
		"seconds", "age of the oldest transaction whose session is idle",
		`max(pg_stat_activity_max_tx_duration{state=~"idle in transaction.*"})`)
)

var applicationLabels = []string{"datname", "usename", "application_name"}
