package judge

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// inImage runs psql in a container as the superuser that PostgreSQL's image was set up to create, postgres by
// default (docker-library/docs, postgres/README.md). That user need not have a database of the same name.
const inImage = `sh -c 'exec psql -X -U "${POSTGRES_USER:-postgres}" -d postgres "$@"' psql`

// client returns the psql command for the statements. Each gets a separate -c: ALTER SYSTEM cannot
// run in a transaction, and all statements of one -c form one transaction.
func client(at rules.ClientAt, statements []string) []string {
	words := []string{"psql", "-X"}
	arg := func(option, value string) {
		if value != "" {
			words = append(words, option, shellword.Quote(value))
		}
	}

	// Without an address psql would reach whatever listens on the default port of this machine: an
	// unknown one is a variable that stops the command.
	required := func(option, value, variable string) {
		if value == "" {
			words = append(words, option, `"${`+variable+`}"`)
		}
		arg(option, value)
	}

	// On its own host the server is reached through its socket and its own port, no matter which address
	// it was recorded from.
	switch at.Place {
	case rules.Host:
		words = []string{"sudo", "-u", "postgres", "psql", "-X"}
		socket, _, _ := strings.Cut(at.Facts["server.unix_socket_directories"], ",")
		arg("-h", strings.TrimSpace(socket))
		required("-p", at.Facts["server.port"], "PGPORT:?the port of the server")
	case rules.Kubernetes, rules.Docker:
		words = []string{inImage}
		arg("-p", at.Facts["server.port"])
	default:
		required("-h", at.Facts["server.host"], "PGHOST:?the host of the server")
		arg("-p", at.Facts["server.host_port"])
		arg("-U", at.Facts["server.user"])
		arg("-d", at.Facts["server.database"])
	}

	for _, s := range statements {
		words = append(words, "-c", sqlWord(s))
	}

	return []string{strings.Join(words, " ")}
}

// variables matches values that the user sets in the shell, as Plimsoll prints them.
var variables = regexp.MustCompile(`"\$\{[A-Z_]+:\?[^"]*\}"`)

// sqlWord quotes a statement as one shell word. Variables stay outside of the quotes: inside, the
// shell would not expand them.
func sqlWord(statement string) string {
	var b strings.Builder
	end := 0
	for _, at := range variables.FindAllStringIndex(statement, -1) {
		b.WriteString(shellword.Quote(statement[end:at[0]]) + statement[at[0]:at[1]])
		end = at[1]
	}
	if end == 0 {
		return shellword.Readable(statement)
	}
	return b.String() + shellword.Quote(statement[end:])
}

// A setting is a PostgreSQL setting with the value to set: a template in SQL syntax, and inRDS the same in
// the unit of an RDS parameter group.
type setting struct{ name, value, inRDS string }

// bySession are the settings that can also be set for a database or a role.
var bySession = []string{
	"commit_delay", "idle_in_transaction_session_timeout", "log_temp_files", "wal_compression"}

const (
	operatorSets = "If an operator manages the server, it refuses or reverts ALTER SYSTEM: set the value in the operator's resource, such as spec.postgresql.parameters."
	commandLine  = "A value from the server's command line outranks ALTER SYSTEM: in that case look saves no state, and the change refuses to run. Change it on the command line. Standbys have their own settings: repeat the change on each."
)

const (
	reload   = "SELECT pg_reload_conf()"
	ofServer = "ALTER SYSTEM persists it in postgresql.auto.conf"
)

// onServer returns the recipe that sets settings by ALTER SYSTEM, with further things to look at first.
// The server reads the file again after the change and after the undo; otherwise, pending_restart would
// not show a setting that waits for a restart.
func onServer(look []string, all ...setting) rules.Recipe {
	file := all[0].name
	var room []rules.Command
	if retainsWAL(all) {
		room = rules.There(`df -h {{ask .folder "PGDATA" "the data directory that the first command shows"}}/pg_wal/.`)
	}

	var change []string
	for _, s := range all {
		change = append(change, "ALTER SYSTEM SET "+s.name+" = "+s.value)
	}

	return rules.Recipe{
		Look: slices.Concat(rules.Ask(slices.Concat(showSettings(all), look)...), room,
			rules.Save(file, " *ALTER SYSTEM", formerly(all))),
		Do:    rules.AskSaved(file, append(change, reload)...),
		Check: rules.Ask(showSettings(all)...),
		Undo:  slices.Concat(rules.Restore(file, rules.Saved), rules.Ask(reload)),
		Kept:  ofServer, Notes: []string{operatorSets, commandLine}}
}

// retainsWAL reports whether the settings make pg_wal grow, so that its volume needs room.
func retainsWAL(all []setting) bool {
	return slices.ContainsFunc(all, func(s setting) bool {
		return s.name == "max_wal_size" || s.name == "max_slot_wal_keep_size"
	})
}

// afterRestart returns the recipe for a setting that takes effect when the server starts (context
// postmaster).
func afterRestart(look []string, s setting) rules.Recipe {
	r := onServer(look, s)
	r.Places = []rules.Place{rules.Host, rules.Docker}
	r.Notes = []string{commandLine}
	r.Restart = "PostgreSQL, after the change and after the undo; neither takes effect before"
	return r
}

// reloaded returns the recipes for settings that take effect on a reload (context sighup in
// pg_settings).
func reloaded(all ...setting) []rules.Recipe {
	server := onServer(nil, all...)
	server.Places = []rules.Place{rules.Host, rules.Docker, rules.Kubernetes}

	return append([]rules.Recipe{server}, inServices(all)...)
}

// identity is the query that shows which server answers.
const identity = "SELECT name, setting FROM pg_settings WHERE name IN ('data_directory', 'port', 'cluster_name')"

// named returns settings as SQL values.
func named(all []setting) string {
	var names []string
	for _, s := range all {
		names = append(names, "'"+s.name+"'")
	}
	return strings.Join(names, ", ")
}

// showSettings returns the queries that identify the server and show the settings and where they
// are set. A database's or a role's value outranks the server's if sessions may set it.
func showSettings(all []setting) []string {
	show := []string{"SELECT name, setting, unit, concat_ws(' ', source, sourcefile || ':' || sourceline) AS source, pending_restart FROM pg_settings WHERE name IN ('data_directory', 'port', " +
		named(all) + ")"}
	if slices.Contains(bySession, all[0].name) {
		show = append(show, "SELECT datname, setrole::regrole AS role, value FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase, unnest(setconfig) AS value WHERE split_part(value, '=', 1) IN ("+
			named(all)+")")
	}
	return show
}

// formerly returns the query that prints the statements for the undo: they restore each name's last
// line in postgresql.auto.conf, or reset it if it has none. Without a line there, the value of
// postgresql.conf or the default applies again. It prints nothing if one is set on the command line: ALTER
// SYSTEM would have no effect until the next start without it, so the change must not run.
func formerly(all []setting) string {
	return "WITH s AS (SELECT name, source FROM pg_settings WHERE name IN (" + named(all) + "))" +
		" SELECT 'ALTER SYSTEM ' || coalesce('SET ' || name || ' = ' || quote_literal((SELECT setting FROM pg_file_settings f WHERE f.name = s.name AND sourcefile LIKE '%/postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1)), 'RESET ' || name)" +
		" FROM s WHERE 'command line' <> ALL (SELECT source FROM s)"
}

// blocks is the SQL condition that selects sessions that block others.
const blocks = "pid IN (SELECT unnest(pg_blocking_pids(w.pid)) FROM pg_stat_activity w)"

const mib = 1 << 20

var (
	paceCheckpoints = &rules.Remedy{Name: "pace-checkpoint", Title: "Pace the checkpoint",
		Recipes: reloaded(setting{"checkpoint_completion_target", "0.9", "0.9"},
			setting{"checkpoint_flush_after", "'256kB'", "32"}),
		Cost: "by design the checkpoint takes most of the interval",
		Wait: 10 * time.Minute, Until: "the current checkpoint and one more have ended",
		Raises: []string{"checkpoint"},
		Settings: []string{"postgresql.checkpoint_completion_target", "postgresql.checkpoint_flush_after",
			CheckpointCompletionTarget.Name, CheckpointFlushAfter.Name},
		Needed: func(c *rules.Case, _ rules.Values) bool {
			return !(timeline.Max(c.One(CheckpointCompletionTarget)) >= 0.9 &&
				timeline.Max(c.One(CheckpointFlushAfter)) > 0)
		}}

	seldomCheckpoints = &rules.Remedy{Name: "seldom-checkpoint", Title: "Run checkpoints less often",
		Recipes: reloaded(setting{"checkpoint_timeout", "'15min'", "900"},
			setting{"max_wal_size", "'{{.need}}MB'", "{{.need}}"}),
		Cost: "longer crash recovery; {{.need}} MB of disk space for WAL, more in a burst: check that it is free",
		Wait: 45 * time.Minute, Until: "three checkpoints have completed",
		Raises: []string{"checkpoint"},
		Settings: []string{"postgresql.checkpoint_timeout", "postgresql.max_wal_size", CheckpointTimeout.Name,
			MaxWALSize.Name},
		Size: sizeWAL(15 * time.Minute),
		Needed: func(c *rules.Case, _ rules.Values) bool {
			return !(timeline.Max(c.One(CheckpointTimeout)) >= 900)
		}, Example: rules.Values{"need": "8192"}}

	moreWAL = &rules.Remedy{Name: "more-wal",
		Title:   "Raise max_wal_size, so that checkpoint_timeout triggers checkpoints",
		Recipes: reloaded(setting{"max_wal_size", "'{{.need}}MB'", "{{.need}}"}),
		Cost:    "longer crash recovery; {{.need}} MB of disk space for WAL, more in a burst: check that it is free",
		Wait:    15 * time.Minute, Until: "checkpoint_timeout has triggered two checkpoints",
		Raises:   []string{"checkpoint"},
		Settings: []string{"postgresql.max_wal_size", MaxWALSize.Name}, Size: sizeWAL(0),
		Example: rules.Values{"need": "8192"}}

	endIdle = &rules.Remedy{Name: "idle-in-transaction",
		Title:   "Terminate sessions that stay idle in a transaction",
		Recipes: reloaded(setting{"idle_in_transaction_session_timeout", "'60s'", "60000"}),
		Cost:    "a client that pauses for a minute in a transaction loses its connection and the transaction: first check what such clients do",
		Wait:    10 * time.Minute, Until: "the stall would normally have recurred",
		Settings: []string{"postgresql.idle_in_transaction_session_timeout"}}

	endBlocker = &rules.Remedy{Name: "end-blocker", Title: "End the session that holds the lock",
		Recipes: []rules.Recipe{{
			Look: rules.Ask(identity, "SELECT pid, usename, client_addr, application_name, state, now() - xact_start AS age, left(query, 60) AS query FROM pg_stat_activity WHERE "+blocks+" ORDER BY age DESC"),
			// Another session may have received the process ID since look.
			Do:     rules.Ask(`SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {{ask .pid "PID" "the pid that look shows first, once you know what it does"}} AND ` + blocks),
			Check:  rules.Ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
			Kept:   "it affects a single session; idle_in_transaction_session_timeout and lock_timeout prevent a recurrence",
			NoUndo: "the transaction is rolled back, and its client has to run it again"}},
		Cost: "that session's transaction is rolled back",
		Wait: time.Minute, Until: "the queue has drained"}

	// Every version accepts "on". Before 15 the setting is a boolean, for which RDS lists 0 and 1, also
	// accepts on and off, and stores these as 1 and 0 (awsdocs/amazon-rds-user-guide, #183). If 15 or later
	// is set to one of its compression methods, nothing is needed.
	compressWAL = &rules.Remedy{Name: "wal-compression", Title: "Compress full-page images in the WAL",
		Recipes: reloaded(setting{"wal_compression", "'on'", "on"}),
		Cost:    "CPU in the sessions that write; lz4 and zstd, which servers from 15 on may offer, cost less",
		Wait:    15 * time.Minute, Until: "two checkpoints have completed",
		Settings: []string{"postgresql.wal_compression"},
		Needed: func(c *rules.Case, _ rules.Values) bool {
			set := c.Facts["postgresql.wal_compression"]
			return set == "" || set == "off"
		}}

	noCommitDelay = &rules.Remedy{Name: "commit-delay", Title: "Set commit_delay to 0",
		Recipes: reloaded(setting{"commit_delay", "0", "0"}),
		Cost:    "more WAL syncs under load",
		Wait:    10 * time.Minute, Until: "the stall would normally have recurred",
		Settings: []string{"postgresql.commit_delay", CommitDelay.Name}}

	// There is no undo: a slot created again does not have the WAL that the old one retained.
	dropSlot = &rules.Remedy{Name: "drop-slot", Title: "Drop a replication slot that is no longer used",
		Recipes: []rules.Recipe{{
			Look: rules.Ask(identity, "SELECT slot_name, slot_type, database, active, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) AS keeps FROM pg_replication_slots ORDER BY pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) DESC NULLS LAST"),
			Do:   rules.Ask(`SELECT pg_drop_replication_slot('{{ask .slot "SLOT" "a slot that look shows as not active, once you know that its consumer will not come back"}}')`),
			Check: rules.Ask("SELECT slot_name, active FROM pg_replication_slots",
				"SELECT pg_size_pretty(sum(size)) AS pg_wal FROM pg_ls_waldir()"),
			Kept:   "a dropped slot stays dropped",
			NoUndo: "its consumer cannot continue: a standby has to be rebuilt or restore WAL from the archive, a logical subscriber has to copy its tables again"}},
		Cost: "the slot's consumer has to start from scratch",
		Wait: 10 * time.Minute, Until: "a checkpoint has completed, which removes the WAL"}

	boundSlots = &rules.Remedy{Name: "bound-slots", Title: "Limit the WAL that slots retain (13 and later)",
		Recipes: reloaded(setting{"max_slot_wal_keep_size", "'{{.keep}}MB'", "{{.keep}}"}),
		Cost:    "a slot that is further behind is lost, and its consumer has to start from scratch",
		Wait:    10 * time.Minute, Until: "a checkpoint has completed",
		Settings: []string{"postgresql.max_slot_wal_keep_size", MaxSlotKept.Name}, Size: sizeSlots,
		Example: rules.Values{"keep": "16384"},
		Needed:  func(c *rules.Case, _ rules.Values) bool { return !(timeline.Max(c.One(MaxSlotKept)) > 0) }}

	logTempFiles = &rules.Remedy{Name: "log-temp-files",
		Title:   "Log the queries that write large temporary files",
		Recipes: reloaded(setting{"log_temp_files", "'64MB'", "65536"}),
		Cost:    "a line in the server's log for each such file",
		Wait:    30 * time.Minute, Until: "the stall would normally have recurred"}

	slowerAutovacuum = &rules.Remedy{Name: "slower-autovacuum",
		Title:    "Slow autovacuum down",
		Recipes:  reloaded(setting{"autovacuum_vacuum_cost_limit", "{{.cost}}", "{{.cost}}"}),
		Cost:     "vacuums take twice as long: check that tables do not bloat and that the age of unfrozen transactions does not keep growing",
		Wait:     30 * time.Minute,
		Until:    "autovacuum has run again; up to version 15 a worker picks up the new limit with its next table",
		Settings: []string{AutovacuumCostLimit.Name}, Size: sizeAutovacuum, Example: rules.Values{"cost": "100"},
		Needed: func(_ *rules.Case, v rules.Values) bool { return v["cost"] != "" }}

	cleanEarlier = &rules.Remedy{Name: "background-writer",
		Title: "Let the background writer clean more buffers",
		Recipes: reloaded(setting{"bgwriter_lru_maxpages", "1000", "1000"},
			setting{"bgwriter_delay", "'50ms'", "50"},
			setting{"bgwriter_lru_multiplier", "4.0", "4.0"}),
		Cost: "some pages are written more than once between two checkpoints",
		Wait: 10 * time.Minute, Until: "a checkpoint has completed",
		Raises: []string{"iops", "throughput", "utilisation"}}
)

// sizeWAL returns the max_wal_size in MB for which the timeout triggers checkpoints; 0 means the
// current checkpoint_timeout. It is twice the WAL of an interval, rounded up to a GB, because
// max_wal_size covers the WAL of one and a half to two cycles.
func sizeWAL(timeout time.Duration) func(*rules.Case, *rules.Finding) rules.Values {
	return func(c *rules.Case, _ *rules.Finding) rules.Values {
		have, rate := timeline.Max(c.One(MaxWALSize)), timeline.Mean(c.One(WALGenerated))
		seconds := timeout.Seconds()
		if seconds == 0 {
			seconds = timeline.Max(c.One(CheckpointTimeout))
		}

		need := 2 * rate * seconds / mib
		if !(need > 0) {
			need = 4096 // the rate is unknown: four times the default of 1 GB
		}

		// Never advise less than the current value.
		if more := have / mib; more > 0 {
			if timeout == 0 {
				more *= 2 // the current value is what forces checkpoints
			}
			need = max(need, more)
		}

		return rules.Values{"need": rules.Value(fmt.Sprintf("%.0f", math.Ceil(need/1024)*1024))}
	}
}

// slotKeepMB is the WAL in MB that slots may retain, unless max_wal_size exceeds a quarter of it.
const slotKeepMB = 16384

// sizeSlots returns max_slot_wal_keep_size: at least four times max_wal_size, because a limit close
// to max_wal_size would drop slots that are hardly behind.
func sizeSlots(c *rules.Case, _ *rules.Finding) rules.Values {
	most := float64(slotKeepMB)
	if size := timeline.Max(c.One(MaxWALSize)) / mib; 4*size > most {
		most = 4 * size
	}
	return rules.Values{"keep": rules.Value(fmt.Sprintf("%.0f", most))}
}

// minCostLimit is the cost limit below which autovacuum falls behind on any busy server: a quarter
// of the default.
const minCostLimit = 50

// sizeAutovacuum returns half of the current cost limit; "" if half would be too low.
func sizeAutovacuum(c *rules.Case, _ *rules.Finding) rules.Values {
	have := timeline.Max(c.One(AutovacuumCostLimit))
	switch {
	case math.IsNaN(have):
		have = 200 // the default of vacuum_cost_limit
	case have/2 < minCostLimit:
		return rules.Values{"cost": ""}
	}
	return rules.Values{"cost": rules.Value(fmt.Sprintf("%.0f", have/2))}
}

// walApart moves pg_wal with the scripts of `plimsoll emit`, and leaves a link.
var walApart = &rules.Remedy{Name: "wal-apart", Title: "Put pg_wal on a separate volume",
	Relieves: []rules.Resource{rules.OwnVolume},
	Recipes: []rules.Recipe{
		rules.MoveLog("postgres", "TestMoveOfPostgreSQL", rules.Ask(identity),
			`{{ask .data "PGDATA" "the data directory that the first command shows"}}`,
			`{{ask .unit "UNIT" "the systemd unit, such as postgresql@15-main"}}`,
			"PostgreSQL, for as long as the copy takes", "With standbys, move theirs first."),
		{Places: []rules.Place{rules.Kubernetes},
			None: "the operator creates the volume (for example spec.walStorage). For a plain StatefulSet, plimsoll emit SCENARIO --set 'volumes.wal={type: gp3, size: 20GiB}' --target kubernetes --statefulset FILE writes the manifests and the steps"},
		{Places: []rules.Place{rules.Docker},
			None: "the container has to be recreated with a volume for pg_wal that holds a copy of it"},
		{Places: []rules.Place{rules.RDS},
			None: "RDS has a dedicated log volume only for io1 and io2 storage, at the price of 1,000 GiB with 3,000 IOPS: aws rds modify-db-instance --dedicated-log-volume, which restarts the instance"},
		{Places: rules.Services, None: "the service uses one volume for both"},
	},
	Money: "one more volume{{if not .elsewhere}}, for example 20 GiB of gp3: USD 1.60 a month (us-east-1){{end}}",
	Wait:  10 * time.Minute, Until: "a few checkpoints have completed",
	Raises: []string{"checkpoint"},
	Size: func(c *rules.Case, _ *rules.Finding) rules.Values {
		return rules.Values{"data": rules.Folder(c.Facts["server.data_directory"])}
	},
}

var cacheWithin = &rules.Remedy{Name: "shared-buffers",
	Title: "Set shared_buffers to a quarter of the memory limit",
	Recipes: []rules.Recipe{
		afterRestart([]string{"SHOW max_connections", "SHOW work_mem"},
			setting{"shared_buffers", "'{{.mib}}MB'", ""}),
		{Places: []rules.Place{rules.Kubernetes},
			None: "set shared_buffers in the operator's resource; the operator then restarts the servers"},
		{Places: rules.Services, None: "the service derives it from the instance size"},
	},
	Cost: "more disk reads if the working set no longer fits",
	Wait: 15 * time.Minute, Until: "the cache is warm again",
	Settings: []string{"postgresql.shared_buffers", SharedBuffers.Name},
	Size: func(c *rules.Case, _ *rules.Finding) rules.Values {
		limit := timeline.Max(c.One(rules.ContainerMemoryLimit))
		if !(limit > 0) {
			limit, _ = strconv.ParseFloat(c.Facts["memory_bytes"], 64)
		}
		have := timeline.Max(c.One(SharedBuffers))
		return rules.Values{"mib": rules.If(limit > 0 && !(have <= limit/4),
			rules.Value(fmt.Sprintf("%.0f", limit/4/mib)))}
	},
	Needed:  func(_ *rules.Case, v rules.Values) bool { return v["mib"] != "" },
	Example: rules.Values{"mib": "2048"},
}

// largerWALBuffers needs a restart: wal_buffers has context postmaster.
var largerWALBuffers = &rules.Remedy{Name: "wal-buffers", Title: "Set wal_buffers to 64 MB",
	Recipes: []rules.Recipe{
		afterRestart(nil, setting{"wal_buffers", "'64MB'", ""}),
		{Places: []rules.Place{rules.Kubernetes},
			None: "set wal_buffers in the operator's resource; the operator then restarts the servers"},
		{Places: rules.Services,
			None: "set wal_buffers in the service's parameters (in blocks of 8 kB: 8192); it needs a restart of the instance"},
	},
	Cost: "64 MB of shared memory",
	Wait: 15 * time.Minute, Until: "the stall would normally have recurred",
	Settings: []string{"postgresql.wal_buffers", WALBuffers.Name},
	Needed: func(c *rules.Case, _ rules.Values) bool {
		return !(timeline.Max(c.One(WALBuffers)) >= largeWALBuffers)
	}}

// remedies maps engine-neutral remedies to PostgreSQL's.
var remedies = map[*rules.Remedy]*rules.Remedy{
	rules.LogApart: walApart, rules.PaceWrites: paceCheckpoints, rules.CacheWithin: cacheWithin,
}

// settings are the signals that reveal a changed configuration.
var settings = []*rules.Signal{
	CheckpointCompletionTarget, CheckpointFlushAfter, CheckpointTimeout, MaxWALSize, MinWALSize, SharedBuffers,
	WALBuffers, BgwriterFlushAfter, FullPageWrites, MaxConnections, CommitDelay,
}
