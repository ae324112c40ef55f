package archtest

// layers is the table of packages, from those that need nothing to those that join everything. A
// package imports exactly what its row names, and a row names only rows above it, so that to
// understand a package nobody has to look below it. (Test files may import anything: Go itself
// forbids cycles.) ARCHITECTURE.md shows the table; `make generate` writes it there.
var layers = []Layer{
	{"base/diagnostics", "what is wrong with something a person wrote: the field, the limit, its source, the nearest legal value", nil},
	{"base/vtime", "virtual time: one heap of events in whole nanoseconds", nil},
	{"base/latency", "distributions of latencies, also by phase of the checkpoint cycle", []string{
		"base/vtime",
	}},
	{"base/random", "randomness by seed and name, the same bits on every machine", nil},
	{"base/shellword", "words quoted for a shell, so that a printed command can be pasted", nil},
	{"base/units", "how a quantity is printed: three digits and the unit that keeps it readable", nil},

	{"check/archtest", "holds the repository to this table, to its sizes, and each engine to its folder", nil},
	{"check/golden", "golden files of tests, and how they are written anew", nil},
	{"check/portable", "finds what would make a model's result differ between machines", nil},

	{"record/ebs", "what an EBS volume's NVMe device says of itself", nil},
	{"record/recording", "the series of a run, in memory, in a folder or on a server, behind one Reader and one Writer", nil},
	{"record/source", "what a source is, and the loop that samples a running one", []string{
		"record/recording",
	}},
	{"record/exposition", "Prometheus text, from a file or sampled from a URL", []string{
		"record/recording", "record/source",
	}},
	{"record/fio", "fio's JSON reports and latency logs", []string{
		"record/recording", "record/source",
	}},
	{"record/ftdc", "MongoDB's diagnostic.data, decoded at the speed of inflating it", []string{
		"record/recording", "record/source",
	}},
	{"engine/mongodb/ftdctest", "makes captures for tests", nil},
	{"record/host", "this machine's /proc and /sys, under node_exporter's names", []string{
		"record/ebs", "record/recording", "record/source",
	}},
	{"record/iostat", "iostat's logs, turned back into the counters they came from", []string{
		"record/recording", "record/source",
	}},
	{"record/sources", "recognises which source an argument means", []string{
		"record/recording", "record/source", "record/exposition", "record/fio", "record/ftdc",
		"record/host", "record/iostat", "engine/*/live",
	}},
	{"record/timeline", "series laid on one grid of time: rates, episodes, periods, plateaus, and PromQL over them", nil},

	{"model/volume", "a cloud volume as a pure queue: a request and a time in, a completion time out", []string{
		"base/vtime", "base/random", "base/units",
	}},
	{"model/catalog", "what can be rented: limits and prices with their source and date, built into volumes", []string{
		"base/diagnostics", "base/random", "base/units", "model/volume",
	}},
	{"model/catalog/maketable", "the program that makes the catalogue's embedded table", []string{
		"model/catalog",
	}},
	{"model/kernel", "what the kernel does between an engine and its volume", []string{
		"base/diagnostics", "base/vtime", "base/random", "base/units", "model/volume",
	}},
	{"model/workload", "who asks for what, and when", []string{
		"base/diagnostics", "base/vtime", "base/random", "base/units",
	}},
	{"model/engine", "what all storage engines have in common: traits, facets, and models in virtual time", []string{
		"base/vtime", "base/random", "model/kernel", "model/workload",
	}},
	{"model/scenario", "the YAML a person writes, with diagnostics at line and column", []string{
		"base/diagnostics", "base/random", "base/units", "model/volume", "model/catalog",
		"model/kernel", "model/workload", "engine/*/model",
	}},
	{"model/simulate", "runs a scenario in virtual time: a recording and a result", []string{
		"base/vtime", "base/latency", "base/random", "base/units", "record/recording",
		"model/volume", "model/kernel", "model/workload", "model/engine", "model/scenario",
		"engine/*/model",
	}},
	{"model/volume/volumetest", "the conformance suite of all volumes", []string{
		"base/vtime", "base/random", "base/units", "model/volume",
	}},

	{"judge/rules", "signals and rules: what Plimsoll knows of why writes stall", []string{
		"base/units", "record/timeline",
	}},
	{"judge/alerts", "the rule pack as rules of a Prometheus server's own ruler", []string{
		"judge/rules",
	}},
	{"judge/diagnose", "a verdict from recordings", []string{
		"base/units", "record/recording", "record/timeline", "judge/rules",
	}},
	{"judge/fleet", "every database of a Prometheus-compatible server, and what they have in common", []string{
		"base/units", "record/recording", "model/catalog", "judge/rules", "judge/diagnose",
	}},
	{"judge/ruletest", "test scripts of rules, run without a Prometheus server", []string{
		"record/recording", "judge/rules", "judge/diagnose",
	}},

	{"lab", "a real engine on an emulated volume: what its parts agree on", []string{
		"record/source", "model/workload", "model/scenario",
	}},
	{"lab/disk", "an image in user space that answers when a volume would", []string{
		"base/vtime", "base/random", "base/units", "model/volume",
	}},
	{"lab/blockdev", "such a disk as a block device of the kernel, by FUSE and loop", []string{
		"base/units", "model/volume", "lab/disk",
	}},
	{"lab/existing", "a server that is already running, and what a run may do there", []string{
		"base/vtime", "base/units", "model/workload", "model/scenario", "lab",
	}},
	{"lab/loadgen", "the load generator: an open loop, measured from intended starts", []string{
		"base/vtime", "base/latency", "base/random", "base/units", "model/workload", "lab",
	}},
	{"lab/mount", "file systems on such devices, in a process that leaves nothing behind", []string{
		"base/units", "model/volume", "model/catalog", "model/kernel", "model/scenario",
		"lab/disk", "lab/blockdev",
	}},
	{"lab/probe", "a real device under the I/O that databases make", []string{
		"base/diagnostics", "base/latency", "base/random", "base/units", "record/ebs",
		"model/catalog",
	}},
	{"lab/process", "an engine's processes: unprivileged, and gone when we are", nil},
	{"lab/run", "a scenario against a real engine in real time: a recording and a result", []string{
		"base/vtime", "base/latency", "base/random", "base/units", "record/recording",
		"record/source", "record/host", "model/engine", "model/scenario", "model/simulate",
		"lab", "lab/disk", "lab/blockdev", "lab/loadgen", "lab/mount", "engine/*/server",
		"engine/mongodb/worker",
	}},
	{"lab/table", "what the lab measured beside what the model said", []string{
		"base/diagnostics", "base/latency", "base/units", "model/scenario", "model/simulate",
	}},

	{"advise/emit", "a layout as the files that apply it, each checked by the tool that takes it", []string{
		"base/diagnostics", "base/shellword", "base/units", "model/catalog", "model/scenario",
		"engine/*/model",
	}},
	{"advise/plan", "the cheapest layout that meets an objective", []string{
		"base/diagnostics", "base/units", "model/volume", "model/catalog", "model/kernel",
		"model/workload", "model/scenario", "model/simulate", "engine/*/model",
	}},
	{"advise/prove", "two recordings: is it better, by how much, how sure", []string{
		"base/diagnostics", "base/random", "base/units", "record/recording", "record/timeline",
		"judge/rules", "judge/diagnose",
	}},
	{"advise/casebook", "published cases, walked from symptom to proof", []string{
		"base/units", "record/recording", "model/scenario", "model/simulate", "judge/diagnose",
		"lab/table", "advise/emit", "advise/plan", "advise/prove", "examples/lab",
	}},
	{"advise/fit", "a recording as the scenario that would have produced it", []string{
		"base/units", "record/recording", "record/timeline", "model/catalog", "judge/rules",
		"judge/diagnose", "engine/*/model",
	}},

	{"present/report", "a diagnosis as text and JSON", []string{
		"base/units", "judge/diagnose",
	}},
	{"present/html", "results as HTML pages with charts", []string{
		"base/latency", "base/shellword", "base/units", "model/simulate", "judge/rules",
		"judge/diagnose", "lab/table", "advise/plan", "advise/prove", "advise/casebook",
		"present/report",
	}},

	{"watch", "live sources diagnosed all the time: a page, metrics and a ring of recordings", []string{
		"base/units", "record/recording", "record/source", "record/timeline", "judge/rules",
		"judge/diagnose", "present/report", "present/html",
	}},

	{"engine/etcd", "all that is known of etcd", []string{
		"model/engine",
	}},
	{"engine/iris", "all that is known of InterSystems IRIS", []string{
		"model/engine",
	}},
	{"engine/mongodb", "all that is known of MongoDB", []string{
		"model/engine",
	}},
	{"engine/postgres", "all that is known of PostgreSQL", []string{
		"model/engine",
	}},
	{"engine/streams", "the shapes of I/O that benchmark tools make, as an engine", []string{
		"model/engine",
	}},
	{"engine", "the one list of the engines", []string{
		"model/engine", "engine/etcd", "engine/iris", "engine/mongodb", "engine/postgres",
		"engine/streams",
	}},
	{"engine/*/live", "a running server of the engine, sampled once a second", []string{
		"record/recording", "record/source", "record/exposition", "record/ftdc",
	}},
	{"engine/*/model", "an engine in virtual time, and its configuration", []string{
		"base/diagnostics", "base/vtime", "base/random", "base/units", "model/volume",
		"model/kernel", "model/workload", "model/engine",
	}},
	{"engine/*/server", "the engine's real server in the lab", []string{
		"base/random", "base/units", "record/recording", "record/source", "record/exposition",
		"record/ftdc", "model/workload", "model/scenario", "lab", "lab/existing", "lab/process",
		"engine/*/model",
	}},
	{"engine/enginetest", "the conformance suite of all models of engines", []string{
		"base/vtime", "base/random", "base/units", "model/volume", "model/kernel",
		"model/workload", "model/engine",
	}},
	{"engine/etcd/checkperf", "etcdctl's check perf as an open loop", []string{
		"base/vtime", "base/latency", "base/random", "base/units", "model/workload",
		"lab/loadgen", "engine/*/server",
	}},
	{"engine/etcd/etcdtest", "real etcd clusters for tests", []string{
		"lab/process",
	}},
	{"engine/mongodb/worker", "WiredTiger alone, in a program of its own", []string{
		"base/units", "record/recording", "record/source", "model/workload", "lab",
		"lab/process", "engine/*/model",
	}},
	{"engine/mongodb/buckets", "what the granularity of bucket documents costs a real WiredTiger", []string{
		"base/diagnostics", "base/units", "model/workload", "model/scenario", "lab",
		"lab/blockdev", "lab/mount", "engine/mongodb/worker",
	}},
	{"engine/mongodb/mongotest", "a server for tests that speaks MongoDB's wire protocol", []string{
		"record/ftdc",
	}},
	{"engine/postgres/postgrestest", "a real PostgreSQL for tests", []string{
		"lab/process",
	}},

	{"examples/lab", "the error table's scenarios and measurements, embedded", nil},

	{"docs", "the rules' pages, embedded", nil},

	{"deploy/grafana", "the program that makes Grafana's dashboard of the pack", []string{
		"judge/rules",
	}},
	{"deploy/image", "the program that makes a container image", nil},

	{"cmd/plimsoll", "the verbs: flags, a call and a writer each", []string{
		"base/diagnostics", "base/latency", "base/random", "base/units", "record/recording",
		"record/source", "record/exposition", "record/sources", "model/catalog",
		"model/scenario", "model/simulate", "judge/rules", "judge/alerts", "judge/diagnose",
		"judge/fleet", "judge/ruletest", "lab", "lab/blockdev", "lab/existing", "lab/mount",
		"lab/probe", "lab/run", "lab/table", "advise/emit", "advise/plan", "advise/prove",
		"advise/casebook", "advise/fit", "present/report", "present/html", "watch",
		"engine/*/server", "engine/etcd/checkperf", "engine/mongodb/buckets", "docs",
	}},
}
