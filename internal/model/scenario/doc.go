// Package scenario reads the YAML file that describes a deployment: workload, engine, volumes, host,
// objective. The result is a [Scenario] that package simulate can run.
//
//	plimsoll: 1
//	name: telemetry platform
//	seed: 1
//	run: {duration: 10min, warmup: 2min}
//	host: {instance: m6i.xlarge, filesystem: xfs}
//	volumes:
//	  data: {type: gp3, size: 500GiB, iops: 3000, throughput: 125MiB/s}
//	engine: {mongodb: {cache: 5GB, checkpoint: 60s}}
//	workload: {preset: telemetry}
//	objective: {write_p99: 25ms}
//
// Each part belongs to the package that models it: the value of a volume's name is a
// [catalog.Order], of workload a [workload.Spec], of host a [linux.Config], of an engine's name its
// Config. This package reads the text into them, fills in the values that one part takes from
// another (cores and memory from an instance, the size of the database from a workload), and
// checks each part.
//
// All mistakes are reported together, as [Problems]: each with file, line and column, the line itself
// with a mark under the place, the limit, its source, and the nearest legal value. Quantities need
// units. An unknown key is an error, because a misspelled setting would silently keep its default.
//
// Only a plain subset of YAML is read: one document of mappings, lists and scalars. Anchors,
// aliases, merge keys and tags are refused, which also keeps a small file from expanding into a
// large one.
package scenario
