package judge

import (
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const otherFinding = "the other finding has the commands"

// client returns etcdctl commands; each statement holds the arguments, already quoted for a shell.
// A statement without endpoints gets one of the diagnosed cluster, because etcdctl's default may be
// a different cluster.
func client(_ rules.ClientAt, statements []string) []string {
	calls := make([]string, len(statements))
	for i, s := range statements {
		if !strings.Contains(s, "--endpoints=") {
			s = `--endpoints="${ENDPOINT:?the client URL of a member, such as https://10.0.0.5:2379}" ` + s
		}
		calls[i] = "etcdctl " + s
	}
	return calls
}

const (
	status    = "endpoint status --cluster -w table"
	healthy   = "endpoint health --cluster"
	withTLS   = "With TLS, add --cacert, --cert and --key. A container does not see ETCDCTL_CACERT and similar variables set on this machine: pass them with docker exec -e, or with kubectl exec and env before etcdctl."
	providers = "the provider runs the control plane"
)

var hosted = rules.Recipe{Places: rules.Services, None: providers}

// inconsistent is why some versions must not defragment (etcd's announcement of November 2022).
var inconsistent = rules.Recipe{From: "3.5", Before: "3.5.6",
	None: "if 3.5.0 to 3.5.5 crashes while defragmenting, the member's data can become inconsistent: upgrade to 3.5.6 or later first"}

// moveLeader moves leadership off the slow member. Only the leader accepts the request.
var moveLeader = &rules.Remedy{Name: "move-leader", Title: "Move leadership off the slow member",
	Recipes: []rules.Recipe{hosted,
		{Look: rules.Ask(status),
			Do:    rules.Ask(`--endpoints={{ask "" "LEADER" "the endpoint of the leader"}} move-leader {{ask "" "MEMBER" "the id of a quick member"}}`),
			Check: rules.Ask(status, healthy),
			Undo:  rules.Ask(`--endpoints={{ask "" "NEW_LEADER" "the endpoint of the new leader"}} move-leader {{ask "" "OLD_MEMBER" "the id of the member that led"}}`),
			Kept:  "the next election may make it the leader again: its volume has to become as fast as the others",
			Notes: []string{withTLS}},
	},
	Cost: "writes pause for less than a second",
	Wait: 2 * time.Minute, Until: "the new leader has led for some time",
	Size: func(c *rules.Case, f *rules.Finding) rules.Values {
		led := timeline.Mean(c.For(IsLeader, "instance", strings.TrimPrefix(f.Subject, "etcd ")))
		return rules.Values{"leads": rules.Part(led), "follows": follows(led)}
	},
	Needed: func(_ *rules.Case, v rules.Values) bool { return v["follows"] == "" },
}

func follows(led float64) rules.Value {
	if led < 0.5 {
		return rules.Called("follows")
	}
	return "" // it leads, or no source reports it
}

// defragment returns the file's free pages to the file system.
var defragment = &rules.Remedy{Name: "defragment", Title: "Defragment the backend, one member at a time",
	Recipes: []rules.Recipe{hosted, inconsistent,
		{Look: rules.Ask(status),
			// It is refused if a member is down: without this one, too, the cluster may have no majority.
			Do:     rules.Ask(healthy, `--endpoints={{ask "" "MEMBER" "the endpoint of one member, that of the leader last"}} defrag --command-timeout=60s`),
			Check:  rules.Ask(status),
			NoUndo: "the data does not change",
			Kept:   "it lasts until deleted keys leave free pages again",
			Notes: []string{"Never do this while another member is down. It frees unused pages but no history: compact first only if no client reads old revisions.",
				withTLS}},
	},
	Cost: "the member does not answer while it defragments: seconds, up to a minute with gigabytes",
	Wait: 5 * time.Minute, Until: "every member has been defragmented",
}

// disarm follows etcd's maintenance page after NOSPACE: compact, defragment, disarm. A member that
// refuses writes still accepts all three.
var disarm = &rules.Remedy{Name: "disarm-no-space", Title: "Make room and disarm the NOSPACE alarm",
	Recipes: []rules.Recipe{hosted, inconsistent,
		{Look: rules.Ask("alarm list", status, "endpoint status -w json"),
			Do: rules.Ask(`compact {{ask "" "REVISION" "the revision that endpoint status -w json shows"}}`,
				"defrag --cluster --command-timeout=60s", "alarm disarm"),
			Check:  rules.Ask("alarm list", status),
			NoUndo: "old revisions are gone, and the alarm returns by itself if the file reaches the quota again",
			Kept:   "it lasts until the file reaches the quota again: turn on automatic compaction (--auto-compaction-retention)",
			Notes: []string{"Make sure that no client reads or watches revisions below REVISION. `defrag --cluster` defragments one member after the other; each stops answering during its turn.",
				withTLS}},
	},
	Cost: "each member stops answering while it defragments, and history below the revision is gone",
	Wait: 2 * time.Minute, Until: "etcd accepts writes again",
}

// walApart moves member/wal with the scripts of `plimsoll emit`, and leaves a link. An etcd that does not find
// its WAL starts as a new member, so the scripts start it only on a complete one.
var walApart = &rules.Remedy{Name: "etcd-wal-apart", Title: "Put etcd's WAL on a separate volume",
	Relieves: []rules.Resource{rules.OwnVolume},
	Recipes: []rules.Recipe{hosted,
		rules.MoveLog("etcd", "TestMoveOfEtcd", rules.Ask(status),
			`{{ask "" "DATA" "the data folder of the member, its --data-dir"}}`,
			`{{ask .unit "UNIT" "the systemd unit of the member"}}`,
			"one member, for as long as the copy takes", "One member after another, the leader last, and only while etcdctl endpoint health --cluster reports that all of them are healthy. If the member has --wal-dir, its log is on another path already.",
			withTLS),
		{Places: []rules.Place{rules.Kubernetes},
			None: "plimsoll emit SCENARIO --set 'volumes.wal={type: gp3, size: 10GiB}' --target kubernetes --statefulset FILE writes the manifests and the steps for a StatefulSet. A static pod of a control plane: stop it, move the WAL on its host, and mount the volume in its manifest"},
		{None: "the container has to be recreated with a volume that holds a copy of the WAL, and --wal-dir: a member that does not find its WAL starts from scratch"},
	},
	Cost:  "its cluster runs without the member in the meantime: of three members, no other may fail",
	Money: "one more volume per member",
	Wait:  10 * time.Minute, Until: "the member has caught up",
}

// apartAdvice is what several rules advise.
var apartAdvice = rules.Advice{Summary: "Put etcd's WAL (--wal-dir) on a separate volume",
	Expect: "nothing else queues ahead of its syncs", TradeOff: "one more volume per member",
	Do: []*rules.Remedy{rules.LogApart}}

// remedies maps engine-neutral remedies to etcd's.
var remedies = map[*rules.Remedy]*rules.Remedy{rules.LogApart: walApart}
