// Package advise contains Plimsoll's advice for etcd: how to apply a layout to a cluster.
package advise

import (
	"cmp"
	"path"

	"plimsoll/internal/advise/emit"
)

// walMount is the mount point of the log's volume, walDir the folder that etcd creates in it.
const (
	walMount = "/var/lib/etcd-wal"
	walDir   = walMount + "/wal"
)

// Deployment describes how a member is deployed, with the paths of Debian's packages.
func Deployment() emit.Deployment {
	return emit.Deployment{
		Targets: []emit.Target{{Name: "etcd", About: "environment file and YAML configuration", Write: settings}},
		Places: map[string]emit.Place{
			"data": {Mount: "/var/lib/etcd", Configure: "--data-dir"},
			"wal": {
				Mount: walMount, Configure: "--wal-dir, with a folder in it that etcd creates itself",
				MoveData: "Stop the member to move the log: copy `member/wal` of its data directory to `" + walDir +
					"` (`rsync -a` keeps owner and mode 0700), move the old folder away, and start with `--wal-dir`. " +
					"Do one member at a time, and wait until each is healthy (`etcdctl endpoint health`).",
			},
		},
		Reasons: reasons,
		Elsewhere: []emit.Elsewhere{
			{Setting: "members",
				Text: "etcdctl member add or remove; --target kubernetes --statefulset FILE for the replicas"},
			{Setting: "wal_segment", Text: "compiled into etcd"},
			{Setting: "max_message", Text: "compiled into etcd"},
			{Setting: "max_inflight", Text: "compiled into etcd"},
		},
		Containers: []string{"etcd"},
		Log:        &emit.LogInPod{Mount: walMount, Dir: walIn, Files: "*.wal", Image: shell},
		Move: &emit.LogMove{Unit: "etcd", Data: "/var/lib/etcd/default",
			Next: "one member after another, the leader last; begin with the next when `etcdctl endpoint health --cluster` reports that all of them are healthy"},
		Renew:         func(string) string { return renew },
		Members:       "members",
		MembersChange: "before adding a member, announce it (etcdctl member add); before removing one, take it out (etcdctl member remove).",
	}
}

// shell is an image that includes a shell: etcd's own has none.
const shell = "busybox:1.37"

// walIn finds the data directory in the arguments or the environment; the default is the data's
// mount.
func walIn(mounted string, args []string, getenv func(string) string) (data, log string) {
	data = cmp.Or(emit.Argument(args, "--data-dir"), getenv("ETCD_DATA_DIR"), mounted, "/var/lib/etcd")
	return data, path.Join(data, "member/wal")
}

// renew explains how to replace members: a member that lost its data must be removed and added
// again, never started empty under its old name (etcd documentation, "Runtime reconfiguration").
const renew = "replace one member after another, followers first and the leader last (`etcdctl endpoint status --cluster -w table` shows which one leads):\n\n" +
	"    etcdctl endpoint health --cluster          # all healthy, or stop here\n" +
	"    etcdctl snapshot save before.db            # once\n" +
	"    etcdctl member remove ID                   # of the member to replace\n" +
	"    etcdctl member add NAME --peer-urls=URL    # the same name and URL\n" +
	"    kubectl delete pvc CLAIM... --wait=false && kubectl delete pod POD\n\n" +
	"The pod comes back with new claims. It must start with `ETCD_INITIAL_CLUSTER_STATE=existing`, or it forms a new cluster. Before the next member, wait until `etcdctl endpoint health --cluster` is healthy and " +
	"`endpoint status` shows a raft index close to the others': of three members one may be missing, not two. A member whose data is deleted without `member remove` and `member add` cannot rejoin."

var reasons = map[string]string{
	"batch_interval":  "how long puts are collected before the database is committed, which takes two fdatasyncs.",
	"batch_limit":     "how many are collected at most.",
	"heartbeat":       "should be about the round trip between members.",
	"election":        "ten times the heartbeat: a member whose disk stalls longer loses leadership.",
	"snapshot_count":  "entries between snapshots: fewer need less memory and more disk writes.",
	"catchup_entries": "entries kept for slow followers: one further behind receives the whole database.",
	"quota":           "how large the database may get before it refuses writes.",
}
