package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Signals of a server's place in its cluster. Physical standbys have the primary's system identifier, which
// no exporter reports. On a primary, an exporter has a row of pg_stat_replication for each standby.
var (
	SystemIdentifier = signals.Add(rules.Signal{Name: rules.SignalPrefix + "postgres_system:identifier",
		By:    []string{"system_identifier"},
		Help:  "1 with the identifier that a primary and its physical standbys share",
		Exprs: []string{`plimsoll_postgres_system`}})
	IsStandby = signal("postgres_is_standby:bool", "", "1 on a standby, 0 on a primary",
		`max(pg_replication_is_replica)`)
	Standbys = signal("postgres_standbys:count", "", "standbys that receive WAL from the server",
		`count(pg_stat_replication_pg_wal_lsn_diff)`)
)

// cluster compares a primary and its physical standbys: each writes the same WAL to its own volume. The
// bytes of WAL are not compared, because a standby does not count what it receives.
var cluster = rules.Cluster{Of: membership, SyncTime: WALSyncTime, Syncs: WALSyncs}

func membership(c *rules.Case) rules.Membership {
	var m rules.Membership
	if all := c.Signal(SystemIdentifier); len(all) == 1 {
		m.Name = all[0].Labels.Get("system_identifier")
	}

	// If a recording contains several databases, each may have a different role.
	if role := c.One(IsStandby); timeline.Count(role) > 0 {
		m.Follows = timeline.Quantile(role, 0.5) > 0
		m.Leads = !m.Follows
	}

	if n := c.One(Standbys); timeline.Count(n) > 0 {
		m.Followers = int(timeline.Max(n))
	}

	return m
}
