package judge

import "plimsoll/internal/judge/rules"

// fsyncFloorS is the latency of a WAL's fdatasync from which it may be a stall: etcd's own
// criterion.
const fsyncFloorS = 0.010

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WALFsyncTime, WALFsyncs}

// stalls are those of each member's WAL.
func stalls(sig *rules.Signals) []rules.Stall {
	var out []rules.Stall
	for _, t := range sig.Signal(WALFsyncTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatency(sig.Time, fsyncFloorS, rules.Stall{Rule: "etcd/wal-fsync-slow", Subject: rules.SubjectOn("etcd WAL fdatasync", member),
			IsDatabase: true, OfLog: true, Waiting: t.Values, Ops: sig.For(WALFsyncs, "instance", member)}))...)
	}
	return out
}
