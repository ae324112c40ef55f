package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/model/scenario"
)

// settings writes the settings twice, because etcd reads them from one of two places: the environment (of a
// systemd unit or a container) or a YAML file. If a file is given, etcd ignores the environment (etcd
// documentation, "Configuration options"). Names are those of 3.6; in a file, backend durations are in
// nanoseconds and heartbeats in milliseconds.
func settings(transition *emit.Transition) (*emit.Part, error) {
	before, after := scenario.ConfigOf[*model.Config](transition.Before),
		scenario.ConfigOf[*model.Config](transition.After)
	type option struct {
		path, flag          string
		before, env, inFile string
	}

	at := func(name string) string { return "engine.etcd." + name }
	number := func(path, flag string, was, is int64) option {
		return option{at(path), flag, strconv.FormatInt(was, 10), strconv.FormatInt(is, 10),
			strconv.FormatInt(is, 10)}
	}

	all := []option{
		number("heartbeat", "heartbeat-interval", before.Heartbeat.Std().Milliseconds(),
			after.Heartbeat.Std().Milliseconds()),
		number("election", "election-timeout", before.Election.Std().Milliseconds(),
			after.Election.Std().Milliseconds()),
		{at("batch_interval"), "backend-batch-interval", before.BatchInterval.Std().String(),
			after.BatchInterval.Std().String(), strconv.FormatInt(after.BatchInterval.Std().Nanoseconds(), 10)},
		number("batch_limit", "backend-batch-limit", int64(before.BatchLimit), int64(after.BatchLimit)),
		number("snapshot_count", "snapshot-count", int64(before.SnapshotCount), int64(after.SnapshotCount)),
		number("catchup_entries", "snapshot-catchup-entries", int64(before.CatchUp), int64(after.CatchUp)),
		number("quota", "quota-backend-bytes", int64(before.Quota), int64(after.Quota)),
	}

	// An existing member finds its moved log through the link left in its old place. With this setting it
	// would start on an empty log if the move has not happened yet.
	for _, v := range transition.NewVolumes() {
		// Several new volumes may be for the log; the option is written once.
		has := slices.ContainsFunc(all, func(o option) bool { return o.flag == "wal-dir" })
		if transition.IsNew() && v.Volume == "wal" && !has {
			all = append(all, option{v.Path, "wal-dir", "in the data directory", walDir, strconv.Quote(walDir)})
		}
	}

	part := &emit.Part{}
	env := transition.Head("#",
		"etcd settings as environment variables: for a systemd EnvironmentFile, or for a container.", "etcd ignores them if it is started with --config-file.")
	conf := transition.Head("#",
		"Settings of etcd for its configuration file (--config-file).", "Merge them into your existing file: with a file, etcd ignores flags and environment.")

	var back []string
	for _, o := range all {
		if o.before == o.env {
			continue
		}
		comment := "\n" + transition.Comments(o.path)
		// etcd refuses to start with an unknown flag, so the comment names the versions.
		if o.flag == "snapshot-catchup-entries" {
			comment += "# Since 3.6; 3.5.14 and later call it experimental-snapshot-catchup-entries, older ones have no such setting.\n"
		}
		env += comment + "ETCD_" + strings.ToUpper(strings.ReplaceAll(o.flag, "-", "_")) + "=" + o.env + "\n"
		conf += comment + o.flag + ": " + o.inFile + "\n"
		back = append(back, fmt.Sprintf("`--%s` %s", o.flag, o.before))
		part.Applies = append(part.Applies, o.path)
	}

	if len(part.Applies) == 0 {
		return nil, nil
	}

	part.Files = []emit.File{emit.Text("etcd/etcd.env", env), emit.Text("etcd/etcd.conf.yml", conf)}
	part.Apply = []string{"Use `etcd/etcd.env` (environment) **or** `etcd/etcd.conf.yml` (`--config-file`), depending on how the members are started. Do one member at a time, followers first; " +
		"run `etcdctl endpoint health --cluster` before the next."}
	part.Restarts = []string{"each etcd member, one at a time: a majority keeps serving."}
	part.Verify = []string{"`etcd_disk_wal_fsync_duration_seconds` p99 under 10 ms and `etcd_disk_backend_commit_duration_seconds` p99 under 25 ms (etcd's own criteria); " +
		"the member's first log lines repeat its settings."}
	part.Back = []string{"Restart the members with the old values: " + strings.Join(back, ", ") + "."}

	if transition.Changed(at("heartbeat")) || transition.Changed(at("election")) {
		part.Risks = append(
			part.Risks, "Heartbeat and election timeout should be the same on all members: change them in one round.")
	}

	return part, nil
}
