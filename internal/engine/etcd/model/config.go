package model

import (
	"strconv"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// Config describes an etcd cluster. [Defaults] are those of etcd 3.6.
type Config struct {
	// Members is the number of members. It must be odd: an even number tolerates no more failures.
	Members int `yaml:"members"`
	// Leader is the number of the leading member, from 1.
	Leader int `yaml:"leader"`
	// RTT is the round trip time between members: within a zone 0.1 to 0.5 ms, between zones of a
	// region 0.5 to 2 ms (assumed).
	RTT units.Duration `yaml:"rtt"`
	// Heartbeat and Election are --heartbeat-interval (100 ms) and --election-timeout (1,000 ms).
	Heartbeat units.Duration `yaml:"heartbeat"`
	Election  units.Duration `yaml:"election"`
	// The backend commits after BatchInterval or after BatchLimit puts (--backend-batch-interval,
	// --backend-batch-limit: 100 ms, 10,000; etcd server/storage/backend, 3.6).
	BatchInterval units.Duration `yaml:"batch_interval"`
	BatchLimit    int            `yaml:"batch_limit"`
	// SnapshotCount is --snapshot-count (10,000 since 3.6, 100,000 before); CatchUp is how many
	// older entries the leader keeps for slow followers (--experimental-snapshot-catchup-entries:
	// 5,000). A follower further behind receives the whole database.
	SnapshotCount int `yaml:"snapshot_count"`
	CatchUp       int `yaml:"catchup_entries"`
	// Segment is the size of a WAL file, which is preallocated (64 MB; etcd server/storage/wal,
	// SegmentSizeBytes).
	Segment units.Size `yaml:"wal_segment"`
	// MaxMessage and MaxInflight bound the unacknowledged messages to a follower (maxSizePerMsg
	// 1 MB, maxInflightMsgs 512; etcd server/etcdserver/raft.go).
	MaxMessage  units.Size `yaml:"max_message"`
	MaxInflight int        `yaml:"max_inflight"`
	// Overhead is how many bytes an entry takes in addition to its key and value, in the WAL and in
	// the database: request and entry headers, record and checksum, revision, page element (about
	// 90 B by the formats of etcd 3.6 and bbolt 1.4; assumed to be the same for both).
	Overhead units.Size `yaml:"entry_overhead"`
	// Quota is --quota-backend-bytes (2 GB). In the model the database stops growing there.
	Quota units.Size `yaml:"quota"`
	CPU   CPU        `yaml:"cpu"`
}

// CPU is the CPU time of each step. The defaults were fitted to eight measured runs of etcd 3.6
// with one and with five members and 1 to 1,000 clients on the same two cores (the package's test
// prints them side by side). So Request and Reply include the client's share of a put.
type CPU struct {
	Request   units.Duration `yaml:"request"`   // a request, from its arrival to its proposal
	Reply     units.Duration `yaml:"reply"`     // a request's answer
	Ready     units.Duration `yaml:"ready"`     // a turn of the raft loop and its goroutines
	Entry     units.Duration `yaml:"entry"`     // an entry of such a turn: encoded, written to the WAL
	Apply     units.Duration `yaml:"apply"`     // a put applied to the database's pages
	Message   units.Duration `yaml:"message"`   // a message, at each end
	Replicate units.Duration `yaml:"replicate"` // an entry in a message, at each end
	Commit    units.Duration `yaml:"commit"`    // a backend commit
	Page      units.Duration `yaml:"page"`      // a page in a backend commit
}

// Defaults returns the settings of etcd 3.6, with one member.
func Defaults() Config {
	return Config{
		Members: 1, Leader: 1,
		RTT:       units.Duration(200 * time.Microsecond),
		Heartbeat: units.Duration(100 * time.Millisecond), Election: units.Duration(time.Second),
		BatchInterval: units.Duration(100 * time.Millisecond), BatchLimit: 10_000,
		SnapshotCount: 10_000, CatchUp: 5_000,
		Segment: 64 * units.MB, MaxMessage: units.MiB, MaxInflight: 512,
		Overhead: 90, Quota: 2 * units.GiB,
		CPU: CPU{
			Request: us(45), Reply: us(20), Ready: us(95), Entry: us(3), Apply: us(9),
			Message: us(20), Replicate: us(5), Commit: us(60), Page: us(3),
		},
	}
}

func us(n int64) units.Duration { return units.Duration(n * int64(time.Microsecond)) }

// Limits of the model. Raft's cost grows with the members; etcd's documentation (FAQ, "What is
// maximum cluster size?") recommends seven at most.
const (
	membersMax  = 11
	entryMax    = 100_000_000
	quotaMax    = 100 * units.GiB
	segmentMin  = units.MB
	durationMax = time.Hour
)

// Check reports invalid settings.
func (c *Config) Check() inputerror.List {
	var problems inputerror.List
	count := func(field string, n, least, most int, what string) {
		inputerror.AddOutside(&problems, field, n, least, most, strconv.Itoa, " "+what, "")
	}

	span := func(field string, d units.Duration, least time.Duration) {
		inputerror.AddOutside(&problems, field, d.Std(), least, durationMax, time.Duration.String,
			" is out of range", "")
	}

	size := func(field string, s, least, most units.Size) {
		inputerror.AddOutside(&problems, field, s, least, most, units.Size.Exact, " is out of range", "")
	}

	count("members", c.Members, 1, membersMax, "members: etcd's FAQ recommends 7 at most")
	// Outside the range, the problem above is enough.
	if c.Members > 0 && c.Members <= membersMax && c.Members%2 == 0 {
		problems = append(problems, inputerror.Problem{
			Field: "members", Text: strconv.Itoa(c.Members) + " members tolerate no more failures than " +
				strconv.Itoa(c.Members-1),
			Limit: "an odd number", Source: "etcd documentation, FAQ, \"Why an odd number of cluster members?\"",
			Nearest: strconv.Itoa(c.Members - 1),
		})
	}

	count("leader", c.Leader, 1, max(1, min(c.Members, membersMax)), "is not one of the members")
	span("rtt", c.RTT, 0)
	span("heartbeat", c.Heartbeat, time.Millisecond)

	if c.Election < 5*c.Heartbeat {
		problems = append(problems, inputerror.Problem{
			Field: "election", Text: c.Election.Std().String() + " is below five heartbeats", Limit: "5 x heartbeat",
			Source: "etcd server/embed/config.go, Validate", Nearest: (5 * c.Heartbeat).Std().String(),
		})
	}

	span("batch_interval", c.BatchInterval, time.Millisecond)
	count("batch_limit", c.BatchLimit, 1, entryMax, "puts per commit")
	count("snapshot_count", c.SnapshotCount, 1, entryMax, "entries per snapshot")
	count("catchup_entries", c.CatchUp, 1, entryMax, "entries kept")
	size("wal_segment", c.Segment, segmentMin, units.GiB)
	size("max_message", c.MaxMessage, 4*units.KiB, 64*units.MiB)
	count("max_inflight", c.MaxInflight, 1, 1<<16, "messages in flight")
	size("entry_overhead", c.Overhead, 0, units.MiB)
	size("quota", c.Quota, 16*units.MiB, quotaMax)

	return append(problems, c.CPU.check().Under("cpu")...)
}

func (c *CPU) check() inputerror.List {
	var l inputerror.List
	for _, x := range []struct {
		field string
		d     units.Duration
	}{
		{"request", c.Request}, {"reply", c.Reply}, {"ready", c.Ready}, {"entry", c.Entry}, {"apply", c.Apply},
		{"message", c.Message}, {"replicate", c.Replicate}, {"commit", c.Commit}, {"page", c.Page},
	} {
		inputerror.AddOutside(&l, x.field, x.d.Std(), 0, time.Second, time.Duration.String,
			" of CPU time per step", "")
	}

	return l
}
