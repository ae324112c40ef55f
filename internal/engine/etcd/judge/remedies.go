package judge

import (
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const otherFinding = "the finding that it names has the commands"

// client runs etcdctl; each statement is its arguments, already a shell's words. Those that name no
// endpoints get one of the diagnosed cluster: etcdctl's default may be another's.
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
	withTLS   = "With TLS, add --cacert, --cert and --key. ETCDCTL_CACERT and the others that are set here do not reach into a container: docker exec takes them with -e, kubectl exec with env before etcdctl."
	providers = "the provider runs the control plane"
)

var hosted = rules.Recipe{Places: []rules.Place{rules.RDS, rules.Managed}, None: providers}

// moveLeader takes the lead off the slow member. Only the leader takes the request.
var moveLeader = &rules.Remedy{Name: "move-leader", Title: "Move the lead off the slow member",
	Recipes: []rules.Recipe{hosted,
		{Look: rules.Ask(status),
			Do:    rules.Ask(`--endpoints={{ask "" "LEADER" "the endpoint of the leader"}} move-leader {{ask "" "MEMBER" "the id of a quick member"}}`),
			Check: rules.Ask(status, "endpoint health --cluster"),
			Undo:  rules.Ask(`--endpoints={{ask "" "NEW_LEADER" "the endpoint of the new leader"}} move-leader {{ask "" "OLD_MEMBER" "the id of the member that led"}}`),
			Kept:  "the next election may give it the lead again: its volume has to become like the others'",
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
	return "" // it leads, or nobody says
}

// defragment gives the file's free pages back. A crash in the middle of it could leave a member's
// data inconsistent in 3.5.0 to 3.5.5 (etcd's announcement of November 2022).
var defragment = &rules.Remedy{Name: "defragment", Title: "Defragment the backend, one member at a time",
	Recipes: []rules.Recipe{hosted,
		{From: "3.5", Before: "3.5.6",
			None: "a crash while 3.5.0 to 3.5.5 defragments can leave the member's data inconsistent: go to 3.5.6 or later first"},
		{Look: rules.Ask(status),
			Do:     rules.Ask(`defrag --endpoints={{ask "" "MEMBER" "the endpoint of one member, that of the leader last"}} --command-timeout=60s`),
			Check:  rules.Ask(status),
			NoUndo: "it holds the same data",
			Kept:   "it lasts until deleted keys leave free pages again",
			Notes: []string{"Never while another member is down. It gives free pages back and no history: compact first only if nobody reads old revisions.",
				withTLS}},
	},
	Cost: "the member does not answer meanwhile: seconds, up to a minute with gigabytes",
	Wait: 5 * time.Minute, Until: "every member has had its turn",
}

// disarm is what etcd's maintenance page does after NOSPACE: compact, defragment, disarm. A member
// that refuses writes still takes all three.
var disarm = &rules.Remedy{Name: "disarm-no-space", Title: "Make room and disarm the NOSPACE alarm",
	Recipes: []rules.Recipe{hosted,
		{From: "3.5", Before: "3.5.6",
			None: "a crash while 3.5.0 to 3.5.5 defragments can leave the member's data inconsistent: go to 3.5.6 or later first"},
		{Look: rules.Ask("alarm list", status, "endpoint status -w json"),
			Do: rules.Ask(`compact {{ask "" "REVISION" "the revision that endpoint status -w json shows"}}`,
				"defrag --cluster --command-timeout=60s", "alarm disarm"),
			Check:  rules.Ask("alarm list", status),
			NoUndo: "old revisions are gone, and the alarm comes back by itself if the file reaches the quota again",
			Kept:   "it lasts until the file reaches the quota again: let the members compact by themselves (--auto-compaction-retention)",
			Notes: []string{"No client that reads or watches old revisions may need those below REVISION. `defrag --cluster` takes the members one after the other; each answers nothing meanwhile.",
				withTLS}},
	},
	Cost: "each member answers nothing while it defragments, and history below the revision is gone",
	Wait: 2 * time.Minute, Until: "writes are accepted again",
}

// walApart is not done by a command: an etcd that does not find its WAL where it looks begins as a new
// member, and which of flags, environment and file count depends on how it is started.
var walApart = &rules.Remedy{Name: "etcd-wal-apart", Title: "Give etcd's WAL a volume of its own",
	Relieves: []rules.Resource{rules.OwnVolume},
	Recipes: []rules.Recipe{
		{None: "a member that does not find its WAL begins anew, so it is not moved under a running configuration: remove the member, set --wal-dir (or wal-dir in its file) to the new volume, and add it again, one at a time"},
	},
	Money: "one more volume a member",
	Wait:  10 * time.Minute, Until: "the member has caught up",
}

// remedies are etcd's ways.
var remedies = map[*rules.Remedy]*rules.Remedy{rules.LogApart: walApart}
