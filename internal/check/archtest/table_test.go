package archtest

// layers is the table of packages, from those that need nothing to those that join everything. A
// package imports exactly what its row names, and a row names only rows above it, so understanding a package
// takes only the rows above it. (Test files may import anything: Go itself forbids cycles.)
// docs/internals/packages.txt shows the table; `make generate` writes it.
var layers = []Layer{
	{"base/inputerror", "what is wrong with something a person wrote: the field, the limit, its source, the nearest legal value", nil},
	{"base/vtime", "virtual time: one heap of events in whole nanoseconds", nil},
	{"base/jsonerror", "why JSON cannot be decoded, in the words of the user who has the file", nil},
	{"base/latency", "distributions of latencies, also by phase of the checkpoint cycle", []string{
		"base/vtime",
	}},
	{"base/procfs", "the kernel's files in /proc, /sys/block and cgroups, parsed in one place", nil},
	{"base/random", "randomness by seed and name, the same bits on every machine", nil},
	{"base/safefile", "a file is written whole into its place or not at all, through no planted link", nil},
	{"base/shellword", "words quoted for a shell, so that a printed command can be pasted", nil},
	{"base/spare", "a block that is never touched, so that short commands are collected less often", nil},
	{"base/units", "how a quantity is printed: three digits and the unit that keeps it readable", nil},
	{"base/yamltree", "YAML that people write, as a tree of values with places and diagnostics", []string{
		"base/inputerror",
	}},

	{"check/archtest", "holds the repository to this table, to its sizes, and each engine to its folder", nil},
	{"check/newrule", "writes the files of a new rule, for a contributor to fill in", nil},
	{"check/newengine", "writes the folder of a new engine, for a contributor to fill in", nil},
	{"check/prose", "extracts the sentences of the code, for Vale and for people who read samples of them", nil},
	{"check/skips", "counts the tests that skip, by reason, from what `go test -json` prints", nil},
	{"check/hostile", "the inputs and servers that an attacker or a bad day would choose", nil},
	{"check/kubeschema", "printed kubectl patches, applied to samples and judged by Kubernetes' own schemas", nil},
	{"check/golden", "golden files of tests, and how they are written anew", nil},
	{"check/licences", "lists the licences of the modules that the program is linked with", nil},
	{"check/portable", "finds what would make a model's result differ between machines", nil},

	{"record/address", "parses a server's address in one place and hides what is secret in it", nil},
	{"record/ebs", "what an EBS volume's NVMe device says of itself", nil},
	{"record/httpclient", "requests over HTTP: bounded answers, retries, redirects, and secrets that stay with their server", nil},
	{"record/recording", "the series of a run, in memory, in a folder or on a server, behind one Reader and one Writer", []string{
		"base/jsonerror", "base/safefile", "record/address", "record/httpclient",
	}},
	{"record/identity", "which server and which host each series belongs to", []string{
		"record/recording",
	}},
	{"record/source", "what a source is, and the loop that samples a running one", []string{
		"record/recording",
	}},
	{"record/exposition", "Prometheus text, from a file or sampled from a URL", []string{
		"record/address", "record/httpclient", "record/recording", "record/source",
	}},
	{"record/lineprefix", "the time, host and process that a pipeline wrote before each line of a text", nil},
	{"record/samples", "lines of text with their times, and batches of the figures in them", []string{
		"record/lineprefix", "record/recording", "record/source",
	}},
	{"record/benchmark", "what a benchmark printed as a source: totals, or what its clients felt over time", []string{
		"record/recording", "record/samples", "record/source",
	}},
	{"record/fio", "fio's JSON and text reports and latency logs", []string{
		"base/jsonerror", "base/safefile", "record/recording", "record/source",
	}},
	{"record/host", "this machine's /proc and /sys, under node_exporter's names", []string{
		"base/procfs", "record/ebs", "record/recording", "record/source",
	}},
	{"record/cloud", "what providers' metrics have in common: a span of time, facts of volumes, and a bill", []string{
		"base/jsonerror", "record/httpclient", "record/recording", "record/source",
	}},
	{"record/amazon", "CloudWatch's metrics of volumes, instances and RDS, and what AWS knows of them", []string{
		"base/jsonerror", "record/httpclient", "record/cloud", "record/recording", "record/source",
	}},
	{"record/azure", "Azure Monitor's metrics of disks and machines, and what Azure knows of them", []string{
		"record/cloud", "record/source",
	}},
	{"record/google", "Google Cloud Monitoring's metrics of disks, and what Compute Engine knows of them", []string{
		"record/cloud", "record/source",
	}},
	{"record/serverlog", "the logs of database servers: lines, prefixes, times and events by second", []string{
		"record/lineprefix", "record/recording", "record/source",
	}},
	{"record/synclog", "what the logs of Redis and ZooKeeper say about slow syncs", []string{"record/lineprefix", "record/serverlog"}},
	{"record/diskstats", "samples of /proc/diskstats that a script kept", []string{
		"base/procfs", "record/lineprefix", "record/recording", "record/samples", "record/source",
	}},
	{"record/vmstat", "vmstat's output, under node_exporter's names", []string{
		"record/recording", "record/samples", "record/source",
	}},
	{"record/promjson", "saved responses of Prometheus' HTTP API", []string{
		"base/jsonerror", "record/recording", "record/samples", "record/source",
	}},
	{"record/iostat", "iostat's logs, turned back into the counters they came from", []string{
		"base/jsonerror", "record/lineprefix", "record/recording", "record/samples", "record/source",
	}},
	{"record/csvtable", "tables of values over time, such as Grafana exports", []string{
		"record/lineprefix", "record/recording", "record/samples", "record/source",
	}},
	{"record/recognise", "recognises which source an argument means", []string{
		"base/procfs", "base/safefile", "record/address", "record/httpclient", "record/recording", "record/source", "record/exposition", "record/fio",
		"record/benchmark", "record/csvtable", "record/host", "record/iostat", "record/diskstats", "record/promjson", "record/vmstat", "record/serverlog", "record/synclog",
	}},
	{"record/query", "a PromQL expression over a recording that no one has described", []string{
		"base/inputerror", "record/recording",
	}},
	{"record/export/parquet", "Parquet files of times, numbers, text and maps, and no more", nil},
	{"record/export", "a recording's samples as CSV, OpenMetrics or Parquet", []string{
		"record/recording", "record/export/parquet",
	}},
	{"record/kubeclient", "the objects of a Kubernetes cluster that concern a database, read and changed", []string{
		"base/jsonerror", "record/httpclient",
	}},
	{"record/pod", "the volumes of a Kubernetes pod, read where their provider measures them", []string{
		"record/kubeclient", "record/recording", "record/source",
	}},
	{"record/timeline", "series laid on one grid of time: rates, episodes, periods, plateaus, and PromQL over them", nil},

	{"model/volume", "a cloud volume as a pure queue: a request and a time in, a completion time out", []string{
		"base/vtime", "base/random", "base/units",
	}},
	{"model/catalog", "what can be rented: limits and prices with their source and date, built into volumes", []string{
		"base/inputerror", "base/jsonerror", "base/random", "base/safefile", "base/units", "model/volume",
	}},
	{"model/catalog/maketable", "the program that makes the catalogue's embedded table", []string{
		"model/catalog",
	}},
	{"model/kernel", "what the kernel does between an engine and its volume", []string{
		"base/inputerror", "base/vtime", "base/random", "base/units", "model/volume",
	}},
	{"model/workload", "who asks for what, and when", []string{
		"base/inputerror", "base/vtime", "base/random", "base/units",
	}},
	{"model/database", "what all storage engines have in common: traits, and models in virtual time", []string{
		"base/vtime", "base/random", "model/kernel", "model/workload",
	}},
	{"model/scenario", "the YAML a person writes, with diagnostics at line and column", []string{
		"base/inputerror", "base/random", "base/units", "base/yamltree", "model/volume",
		"model/catalog", "model/kernel", "model/workload", "model/database",
	}},
	{"model/simulate", "runs a scenario in virtual time: a recording and a result", []string{
		"base/vtime", "base/latency", "base/units", "record/recording",
		"model/volume", "model/kernel", "model/workload", "model/database", "model/scenario",
	}},
	{"model/volume/volumetest", "the conformance suite of all volumes", []string{
		"base/vtime", "base/random", "base/units", "model/volume",
	}},

	{"trace/wait", "the words for what a slow call waited for", nil},
	{"judge/rules", "the language of rules: signals, cases, findings, remedies", []string{
		"base/units", "record/timeline", "trace/wait",
	}},
	{"judge/corerules", "the rules about clients, disks, hosts, containers and missing evidence", []string{
		"base/units", "record/timeline", "judge/rules", "trace/wait",
	}},
	{"judge/alerts", "the rule pack as rules of a Prometheus server's own ruler", []string{
		"judge/rules",
	}},
	{"judge/incident", "stalled time of all detectors, grouped into incidents", []string{
		"record/timeline",
	}},
	{"judge/headroom", "what is used of each limit, and when that ends", []string{
		"base/units", "record/timeline", "judge/rules",
	}},
	{"judge/headroom/offers", "what the catalogue's volumes and machines give, as limits for headroom", []string{
		"base/units", "model/catalog", "judge/rules", "judge/headroom",
	}},
	{"judge/act", "what to do now: the commands that end it, for the place it runs in", []string{
		"base/shellword", "base/units", "judge/rules",
	}},
	{"judge/diagnose", "a verdict from recordings", []string{
		"base/shellword", "base/units", "record/identity", "record/recording", "record/timeline", "judge/rules", "judge/incident",
		"judge/act", "judge/headroom", "trace/wait",
	}},
	{"judge/fleet", "every database of a Prometheus-compatible server, and what they have in common", []string{
		"base/units", "record/recording", "model/catalog", "judge/rules", "judge/diagnose",
	}},
	{"judge/ruletest", "test scripts of rules, run without a Prometheus server", []string{
		"record/recording", "judge/rules", "judge/diagnose",
	}},

	{"trace/events", "what a trace sees: slow calls, waits, requests, commits, and the file that keeps them", []string{"base/safefile"}},
	{"trace/tracer", "eBPF programs on BTF tracepoints, and the ring they fill", []string{
		"trace/events",
	}},
	{"trace/target", "what a trace is about: processes, their file systems and disks", []string{
		"base/procfs", "trace/events", "trace/wait",
	}},
	{"trace/chain", "a slow call cut into stages, each with who was in the way", []string{
		"trace/events", "trace/wait",
	}},
	{"trace/series", "explained calls as counters of a recording", []string{
		"record/recording", "trace/events", "trace/wait", "trace/chain",
	}},
	{"trace/perfetto", "slow calls for Perfetto's viewer", []string{
		"trace/events", "trace/chain",
	}},
	{"trace", "a trace that runs: target, programs, explanation", []string{
		"trace/events", "trace/tracer", "trace/target", "trace/chain",
	}},

	{"present/document", "the model of a result as it is shown: verdict, facts, tables, series, evidence", []string{
		"base/units",
	}},

	{"lab", "a real engine on an emulated volume: what its parts agree on", []string{
		"base/inputerror", "base/units", "record/source", "model/workload", "model/scenario",
		"present/document",
	}},
	{"lab/disk", "an image in user space that answers when a volume would", []string{
		"base/procfs", "base/vtime", "base/random", "base/units", "model/volume",
	}},
	{"lab/blockdev", "such a disk as a block device of the kernel, by FUSE and loop", []string{
		"base/procfs", "base/units", "model/volume", "lab/disk",
	}},
	{"lab/existing", "a server that is already running, and what a run may do there", []string{
		"base/vtime", "base/random", "base/units", "record/address", "record/source",
		"model/workload", "model/database", "model/scenario", "present/document", "lab",
	}},
	{"lab/loadgen", "the load generator: an open loop, measured from intended starts", []string{
		"base/vtime", "base/latency", "base/random", "base/units", "model/workload", "lab",
	}},
	{"lab/ioloop", "what loops of direct I/O need: aligned memory, and files that are laid out", nil},
	{"lab/mount", "file systems on such devices, in a process that leaves nothing behind", []string{
		"base/procfs", "base/shellword", "base/units", "record/httpclient", "model/volume", "model/catalog", "model/kernel",
		"model/scenario", "lab/disk", "lab/blockdev",
	}},
	{"lab/probe", "a real device under the I/O that databases make", []string{
		"base/inputerror", "base/latency", "base/random", "base/units", "base/yamltree",
		"record/ebs", "model/catalog", "lab/ioloop",
	}},
	{"lab/process", "an engine's processes: unprivileged, and gone when we are", []string{"base/procfs"}},
	{"lab/run", "a scenario against a real engine in real time: a recording and a result", []string{
		"base/vtime", "base/latency", "base/procfs", "base/random", "base/units", "record/recording",
		"record/source", "record/host", "model/database", "model/scenario", "model/simulate",
		"lab", "lab/disk", "lab/blockdev", "lab/loadgen", "lab/mount",
	}},
	{"lab/table", "what the lab measured beside what the model said", []string{
		"base/inputerror", "base/latency", "base/units", "base/yamltree", "model/scenario",
		"model/simulate",
	}},

	{"examples/lab", "the error table's scenarios and measurements, embedded", nil},
	{"examples/rollout/clients", "clients of the rollout's mongod, and the count of what they lost", nil},
	{"examples/mongod", "what clients of a real server measured, and the scenarios, embedded", nil},

	{"advise/budget", "what a volume really gives: the least of volume, machine and burst", []string{
		"base/units", "model/catalog", "model/scenario",
	}},
	{"advise/emit", "a layout as the files that apply it, each checked by the tool that takes it", []string{
		"base/inputerror", "base/jsonerror", "base/safefile", "base/shellword", "base/units", "base/yamltree",
		"model/catalog", "model/database", "model/scenario", "advise/budget",
	}},
	{"advise/starter", "the first scenario of a user who has none", []string{"base/units", "model/database"}},
	{"advise/plan", "the cheapest layout that meets an objective", []string{
		"base/inputerror", "base/units", "base/yamltree", "model/volume", "model/catalog", "model/kernel",
		"model/workload", "model/database", "model/scenario", "model/simulate", "advise/budget",
	}},
	{"advise/rollout/steps", "steps forward and back, which can be killed at any moment", nil},
	{"advise/rollout", "a plan carried out, step by step, so that no acknowledged write can be lost", []string{
		"base/inputerror", "base/procfs", "base/safefile", "base/shellword", "base/units", "base/yamltree", "record/address", "model/database",
		"advise/emit", "advise/rollout/steps",
	}},
	{"advise/prove", "two recordings: is it better, by how much, how sure", []string{
		"base/inputerror", "base/random", "base/units", "record/recording", "record/timeline",
		"judge/rules", "judge/diagnose",
	}},
	{"advise/casebook", "published cases, walked from symptom to proof", []string{
		"base/random", "base/units", "base/yamltree", "record/recording", "model/database",
		"model/scenario", "model/simulate", "judge/rules", "judge/diagnose", "lab/table",
		"examples/lab", "advise/emit", "advise/plan", "advise/prove",
	}},
	{"advise/fit", "a recording as the scenario that would have produced it", []string{
		"base/units", "record/recording", "record/timeline", "model/catalog", "model/database",
		"model/kernel", "model/scenario", "judge/rules", "judge/diagnose",
	}},
	{"advise/discover", "what runs in a Kubernetes cluster as a scenario, each value with the object that declares it", []string{
		"base/inputerror", "base/units", "record/kubeclient", "model/catalog", "model/database", "advise/emit", "advise/fit",
	}},
	{"advise/rollout/pods", "a plan carried out on a StatefulSet, through its cluster's API", []string{
		"record/kubeclient", "advise/emit", "advise/discover", "advise/rollout/steps", "advise/rollout",
	}},

	{"present/diagnosis", "a diagnosis as a document, and its JSON", []string{
		"base/shellword", "base/units", "judge/rules", "judge/headroom", "judge/diagnose", "present/document",
	}},
	{"present/brief", "the first screen of a document: a selection that fits", []string{"present/document"}},
	{"present/html", "results as HTML pages with charts", []string{
		"base/units", "present/document",
	}},
	{"present/frame", "one screen of a moment, as lines of text", []string{
		"base/units", "record/timeline", "judge/rules", "judge/diagnose", "present/document",
	}},
	{"present/text", "writes a document for a terminal", []string{
		"base/shellword", "base/units", "present/document",
	}},
	{"present/markdown", "writes a document as Markdown", []string{
		"base/units", "present/document", "present/text",
	}},
	{"present/results", "every other kind of result as a document", []string{
		"base/latency", "base/shellword", "base/units", "record/recording", "record/query",
		"model/volume", "model/catalog", "model/simulate", "judge/rules", "judge/diagnose",
		"judge/fleet", "judge/ruletest", "trace/events", "trace/chain", "lab/mount", "lab/probe", "lab/run",
		"lab/table", "advise/plan",
		"advise/prove", "advise/casebook", "advise/emit", "advise/rollout", "advise/rollout/steps", "advise/fit", "present/document",
		"present/diagnosis",
	}},

	{"present/mcp", "the reading verbs as tools of the Model Context Protocol, bounded and of listed sources only", []string{"base/yamltree"}},

	{"watch", "live sources diagnosed all the time: a page, metrics and a ring of recordings", []string{
		"base/units", "record/httpclient", "record/identity", "record/recording", "record/source", "record/timeline", "judge/rules",
		"judge/headroom", "judge/diagnose", "present/document", "present/diagnosis", "present/html",
	}},

	{"watch/top", "live sources or a recording on a terminal, a second a frame", []string{
		"record/identity", "record/recording", "record/source", "judge/rules", "judge/diagnose", "present/frame", "watch",
	}},

	{"engine/others", "databases without a model that have settings for what their volume can do", []string{
		"advise/budget", "advise/emit",
	}},
	{"engine/parts", "what an engine consists of, and each core's part of the engines that have it", []string{
		"record/recognise", "model/database", "model/scenario", "judge/rules", "lab", "lab/existing", "advise/emit",
		"advise/plan", "advise/fit", "advise/discover", "advise/rollout", "advise/starter", "engine/others",
	}},
	{"advise/rollout/rollouttest", "rollouts of real engines, killed at every point while clients write", []string{
		"engine/parts", "advise/rollout",
	}},
	{"engine/*/judge", "the signals, detectors, accounting and rules of the engine", []string{
		"base/shellword", "base/units", "record/timeline", "judge/rules",
	}},
	{"engine/*/model", "an engine in virtual time, and its configuration", []string{
		"base/inputerror", "base/vtime", "base/random", "base/units", "model/volume", "model/kernel",
		"model/workload", "model/database", "model/scenario",
	}},
	{"engine/etcd/endpoint", "the addresses of etcd's members, and their TLS", nil},
	{"engine/*/advise", "how the engine is fitted, planned, configured and rolled out", []string{
		"base/units", "record/httpclient", "record/timeline", "model/scenario", "judge/rules", "advise/budget", "advise/emit",
		"advise/starter", "advise/fit", "advise/discover", "advise/rollout", "engine/*/judge", "engine/*/model",
		"engine/etcd/endpoint", "advise/plan", "model/simulate",
	}},
	{"engine/mongodb/names", "what MongoDB's metrics and settings are called, in every spelling", nil},
	{"engine/mongodb/ftdc", "diagnostic.data, decoded at the speed of inflating it", []string{
		"base/safefile", "record/recording", "record/source", "engine/mongodb/names",
	}},
	{"engine/*/live", "a running server of the engine, sampled once a second", []string{
		"record/address", "record/recognise", "record/httpclient", "record/recording", "record/source", "record/exposition",
		"engine/mongodb/ftdc", "engine/etcd/endpoint",
	}},
	{"engine/*/server", "the engine's real server in the lab", []string{
		"base/random", "base/units", "record/httpclient", "record/recording", "record/source", "record/exposition",
		"engine/mongodb/ftdc", "model/workload", "model/scenario", "lab", "lab/existing", "lab/ioloop", "lab/process",
		"engine/*/model", "engine/etcd/endpoint", "engine/*/live",
	}},
	{"engine/etcd/checkperf", "etcdctl's check perf as an open loop", []string{
		"base/vtime", "base/latency", "base/random", "base/units", "model/workload", "present/document",
		"lab/existing", "lab/loadgen", "engine/*/server",
	}},
	{"engine/etcd/perftext", "what etcdctl check perf prints", []string{"record/benchmark"}},
	{"engine/etcd/etcdlog", "what etcd's log says", []string{"record/lineprefix", "record/serverlog"}},
	{"engine/etcd", "all that is known of etcd", []string{
		"record/exposition", "record/serverlog", "record/recognise", "model/scenario", "lab", "lab/existing",
		"advise/fit", "engine/*/judge", "engine/*/model", "engine/*/advise", "engine/*/live",
		"engine/*/server", "engine/etcd/checkperf", "engine/etcd/endpoint", "engine/etcd/etcdlog", "engine/etcd/perftext",
		"engine/parts",
	}},
	{"engine/iris", "all that is known of InterSystems IRIS", []string{
		"record/source", "record/exposition", "advise/fit", "engine/*/judge", "engine/*/model",
		"engine/*/advise", "record/recognise", "engine/parts",
	}},
	{"engine/mongodb/worker", "WiredTiger alone, in a separate program", []string{
		"base/units", "record/recording", "record/source", "model/workload", "lab",
		"lab/process", "engine/*/model", "engine/mongodb/names",
	}},
	{"engine/mongodb/buckets", "what the granularity of bucket documents costs a real WiredTiger", []string{
		"base/inputerror", "base/units", "model/workload", "model/scenario", "present/document", "lab",
		"lab/blockdev", "lab/mount", "engine/*/model", "engine/mongodb/worker",
	}},
	{"engine/mongodb/saved", "serverStatus and getDiagnosticData as a shell prints them", []string{
		"engine/mongodb/ftdc", "record/recording", "record/source",
	}},
	{"engine/mongodb/statcolumns", "mongostat's columns and JSON", []string{
		"record/recording", "record/samples", "record/source",
	}},
	{"engine/mongodb/mongodlog", "what mongod's log says", []string{"record/lineprefix", "record/serverlog"}},
	{"engine/mongodb", "all that is known of MongoDB", []string{
		"record/source", "record/exposition", "record/serverlog", "engine/mongodb/ftdc", "engine/mongodb/saved", "engine/mongodb/statcolumns", "record/recognise",
		"model/scenario", "lab", "lab/existing", "advise/fit", "engine/*/judge", "engine/*/model",
		"engine/*/advise", "engine/*/live", "engine/*/server",
		"engine/mongodb/worker", "engine/mongodb/buckets", "engine/mongodb/mongodlog", "engine/parts",
	}},
	{"engine/postgres/pgbenchtext", "what pgbench's clients felt: its progress, totals and logs", []string{"record/benchmark"}},
	{"engine/postgres/fsynctext", "what pg_test_fsync prints", []string{"record/benchmark"}},
	{"engine/postgres/pglog", "what PostgreSQL's log says", []string{"record/lineprefix", "record/serverlog"}},
	{"engine/postgres", "all that is known of PostgreSQL", []string{
		"record/exposition", "record/serverlog", "record/recognise", "model/scenario", "lab", "lab/existing",
		"advise/fit", "engine/*/judge", "engine/*/model", "engine/*/advise", "engine/*/live",
		"engine/*/server", "engine/postgres/fsynctext", "engine/postgres/pgbenchtext", "engine/postgres/pglog", "engine/parts",
	}},
	{"engine/streams", "the shapes of I/O that benchmark tools make, as an engine", []string{
		"model/scenario", "lab", "advise/emit", "advise/fit", "engine/*/model", "engine/*/advise",
		"engine/*/server", "engine/parts",
	}},
	{"engine", "the one list of the engines", []string{
		"engine/etcd", "engine/iris", "engine/mongodb", "engine/postgres", "engine/streams",
		"engine/parts",
	}},
	{"engine/applog", "an engine for tests: one folder, and one line in a list", []string{
		"base/inputerror", "base/vtime", "base/units", "record/timeline", "model/kernel",
		"model/workload", "model/database", "model/scenario", "judge/rules", "advise/plan", "engine/parts",
	}},
	{"engine/enginetest", "the conformance suite of all models of engines", []string{
		"base/vtime", "base/random", "base/units", "model/volume", "model/kernel", "model/workload",
		"model/database",
	}},
	{"engine/etcd/etcdtest", "real etcd clusters for tests", []string{
		"lab/process",
	}},
	{"engine/etcd/clustertest", "a real kube-apiserver on a real etcd for tests, and a play of its controllers", []string{
		"lab/process", "record/kubeclient",
	}},
	{"engine/mongodb/ftdctest", "captures for tests", nil},
	{"engine/mongodb/mongotest", "a server for tests that speaks MongoDB's wire protocol", []string{
		"engine/mongodb/ftdc",
	}},
	{"engine/postgres/postgrestest", "a real PostgreSQL for tests", []string{
		"lab/process",
	}},

	{"docs", "the rules' pages, embedded", nil},

	{"corpus", "scores diagnoses of published incidents", nil},

	{"testkit", "what the tests of many packages start from", []string{
		"judge/corerules", "judge/rules", "engine",
	}},
	{"deploy/grafana", "the program that makes Grafana's dashboard of the pack", []string{
		"judge/corerules", "judge/rules", "engine",
	}},
	{"deploy/image", "the program that makes a container image", nil},

	{"cmd/plimsoll", "the verbs: flags, a call and a writer each", []string{
		"base/inputerror", "judge/act", "judge/corerules", "base/random", "base/safefile", "base/shellword", "base/spare", "base/units", "base/yamltree", "record/address",
		"record/httpclient", "record/amazon", "record/azure", "record/google", "record/pod", "record/recording", "record/query", "record/export", "record/source", "record/exposition",
		"record/recognise", "model/catalog", "model/database",
		"model/scenario", "model/simulate", "judge/rules", "judge/headroom",
		"judge/headroom/offers", "judge/alerts", "judge/diagnose",
		"judge/fleet", "judge/ruletest", "trace", "trace/events", "trace/target", "trace/chain",
		"trace/series", "trace/perfetto", "lab", "lab/blockdev", "lab/existing", "lab/mount",
		"lab/probe", "lab/run", "lab/table", "advise/starter", "advise/emit", "advise/rollout", "advise/rollout/steps", "advise/rollout/pods", "advise/plan", "advise/prove",
		"advise/casebook", "advise/fit", "advise/discover", "record/kubeclient", "present/document", "present/diagnosis", "present/html",
		"present/mcp", "present/brief", "present/text", "present/markdown", "present/results", "present/frame", "watch", "watch/top", "engine", "docs",
	}},
}
