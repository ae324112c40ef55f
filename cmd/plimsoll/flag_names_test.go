package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagConcepts maps each flag to its meaning in every command: a concept has one name, and a name
// one concept. A new flag needs a line; if its concept is already here, it takes that name.
var flagConcepts = map[string]string{
	"after-from":         "begin of the time of AFTER",
	"allow-burst":        "permission: layouts that rely on credits",
	"answer-max":         "longest answer",
	"ascii":              "only 7-bit characters in the output",
	"at":                 "a moment",
	"at-mark":            "mark that splits a source",
	"at-once":            "how many settings may change together",
	"batch":              "frames as text",
	"before-to":          "end of the time of BEFORE",
	"budget":             "highest monthly cost",
	"by":                 "labels that identify a database",
	"cacert":             "CA certificate",
	"cert":               "client certificate",
	"claim":              "claim template of a volume",
	"cluster":            "one database of a fleet",
	"color":              "colours of the output",
	"command":            "processes by program",
	"compare":            "variant of a scenario",
	"compare-model":      "simulate as well",
	"confidence":         "confidence of the intervals",
	"container":          "container of the database",
	"context":            "context of the kubeconfig",
	"cost-after":         "cost after",
	"cost-before":        "cost before",
	"data":               "data folder of the database",
	"database":           "database to create",
	"device":             "device of a volume",
	"diff":               "show changes, write nothing",
	"document":           "size of a document",
	"dry-run":            "show steps, change nothing",
	"engine":             "engine",
	"entries":            "readings in a document",
	"ephemeral":          "permission: local disks",
	"etcd":               "program of etcd",
	"every":              "time between evaluations of rules",
	"fail-on":            "what exit code 3 means",
	"filesystem":         "file system",
	"finish":             "last step of a rollout",
	"fit":                "also measure limits",
	"fix":                "fix that was applied",
	"for":                "how long to sample, trace or measure",
	"force":              "override a safety check",
	"frames":             "how many frames",
	"from":               "begin of the time that is read",
	"full":               "everything instead of one screen",
	"header":             "header of requests",
	"host":               "host of a source",
	"images":             "folder of a volume's images",
	"in":                 "watch or recording that is changed",
	"incident":           "one incident",
	"insecure":           "any TLS certificate",
	"instance":           "machine type",
	"keep":               "what a plan does not change",
	"keep-data":          "do not drop what was created",
	"keep-for":           "age of a ring's oldest samples",
	"keep-size":          "size of a ring",
	"key":                "key of the client certificate",
	"kubeconfig":         "kubeconfig",
	"label":              "label for pushed series",
	"like":               "names to list",
	"load":               "preset of a load",
	"match":              "series to export",
	"measured":           "measurements to read instead of measuring",
	"min-iops":           "IOPS to list from",
	"mongod":             "program of MongoDB",
	"most":               "how many layouts to simulate",
	"mount":              "mount point of a volume",
	"move-log":           "engine whose log moves",
	"name":               "name of a scenario",
	"namespace":          "namespace",
	"new":                "before buying: no layout now",
	"no-descriptions":    "completion without descriptions",
	"no-plan":            "stop before the plan",
	"objective":          "objective",
	"offset":             "correction of a clock",
	"on":                 "StatefulSet to change",
	"once":               "one frame",
	"only":               "names of a suite",
	"out":                "file or folder to write",
	"output":             "format of what is written",
	"p99":                "objective of a first scenario",
	"parallel":           "how many at the same time",
	"path":               "folder whose files are traced",
	"perfetto":           "file for Perfetto",
	"period":             "time between samples",
	"pid":                "process",
	"platform":           "cloud or place of the layout",
	"power-loss":         "how many power cuts",
	"profile":            "I/O profile",
	"prometheus":         "server of a fleet",
	"query-span":         "how far back a sensor's query reads",
	"rank":               "order of a fleet's fixes",
	"record":             "what a rollout records",
	"record-for":         "how long a rollout records",
	"region":             "region of the prices",
	"remote-write":       "receiver to push to",
	"require":            "objective of a proof",
	"resume":             "continue a rollout",
	"runs":               "runs of each scenario",
	"save":               "file of raw measurements, to explain again",
	"schema":             "JSON Schema",
	"seed":               "random seed",
	"selector":           "series to read",
	"sensors":            "documents to push to",
	"series":             "time series in JSON",
	"server":             "existing server",
	"set":                "value of a scenario",
	"settle":             "time to leave out after a mark",
	"show":               "print the profile",
	"site":               "description of this machine",
	"size":               "future size of the data",
	"slow-from":          "latency that counts as stalled",
	"slower-than":        "latency of traced calls",
	"sort":               "order of devices",
	"stage":              "how long a stage measures",
	"statefulset":        "manifest of the StatefulSet",
	"step":               "time between values of a query",
	"strict":             "exit 3 for a warning",
	"sustained":          "how long to push",
	"target":             "what files are written for",
	"timeout":            "how long a call may take",
	"to":                 "end of the time that is read",
	"trace":              "trace while it stalls",
	"trace-for":          "how long to trace a stall",
	"trace-per-hour":     "how long to trace in an hour",
	"trace-slower-than":  "latency of calls traced in a stall",
	"tz":                 "time zone",
	"undo":               "undo a rollout",
	"unit":               "systemd unit of the database",
	"unpriced":           "ignore prices",
	"verbose":            "more detail",
	"version":            "version",
	"volume":             "what is known of a volume",
	"wait":               "how long to wait for something to be ready",
	"watch":              "report each second",
	"web.config.file":    "TLS and passwords of the page",
	"web.host":           "name of the page's host",
	"web.listen-address": "address of the page",
	"width":              "columns of the output",
	"window":             "recent time that is judged",
	"writes":             "writes of a first scenario",
	"yes":                "do not ask",
}

func TestAConceptHasOneName(t *testing.T) {
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(flagConcepts)) {
		if other := names[flagConcepts[name]]; other != "" {
			t.Errorf("--%s and --%s are both %q", other, name, flagConcepts[name])
		}
		names[flagConcepts[name]] = name
	}

	used := map[string]bool{}
	root := newRootCommand(newApp())
	for _, c := range append([]*cobra.Command{root}, everyBelow(root)...) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			used[f.Name] = true
			if flagConcepts[f.Name] == "" {
				t.Errorf("%s --%s (%s): its concept is missing; use the name of one that exists", verb(c), f.Name, f.Usage)
			}
			if f.Name == "to" && !strings.Contains(f.Usage, "up to this time") || f.Name == "from" &&
				!strings.Contains(f.Usage, "from this time on") {
				t.Errorf("%s --%s is a time everywhere, and here it is %q", verb(c), f.Name, f.Usage)
			}
			if f.Hidden {
				t.Errorf("%s --%s is hidden: former names are in formerFlags", verb(c), f.Name)
			}
		})
	}
	for name := range flagConcepts {
		if !used[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}

func TestFormerNamesOfFlags(t *testing.T) {
	root := newRootCommand(newApp())
	for words, renamed := range formerFlags {
		c, _, err := root.Find(strings.Fields(words))
		if err != nil || verb(c) != words {
			t.Errorf("no command %q", words)
			continue
		}
		for former, now := range renamed {
			f := c.Flags().Lookup(former)
			if f == nil || f.Name != now {
				t.Errorf("%s --%s is not --%s", words, former, now)
			}
			if strings.Contains(c.Flags().FlagUsages(), "--"+former+" ") {
				t.Errorf("%s shows --%s", words, former)
			}
		}
	}
}
