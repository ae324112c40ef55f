// Package scenario is the YAML file in which a person writes what is deployed: workload, engine,
// volumes, host, objective. It becomes a [Scenario] that package simulate can run.
//
//	plimsoll: 1
//	name: telemetry platform
//	seed: 1
//	run: {duration: 10min, warmup: 2min}
//	host: {instance: m6i.xlarge, filesystem: xfs}
//	volumes:
//	  data: {type: gp3, size: 500GiB, iops: 3000, throughput: 125MiB/s}
//	engine: {wiredtiger: {cache: 5GB, checkpoint: 60s}}
//	workload: {preset: telemetry}
//	objective: {write_p99: 25ms}
//
// Each part belongs to the package that models it: what stands under a volume's name is a
// [catalog.Order], under workload a [workload.Spec], under host a [linux.Config], under an engine's
// name its Config. This package reads the text into them, fills in what one part can tell another
// (an instance its cores and memory, a workload the size of the database), and asks each what is
// wrong.
//
// All that is wrong is told at once, as [Problems]: each with file, line and column, the line
// itself with a mark under the place, the limit, who says so, and the nearest legal value.
// Quantities need their units, and a key that does not exist is an error, since a misspelled one
// would be a default that nobody chose.
//
// YAML is read plainly: one document of mappings, lists and scalars. Anchors, aliases, merge keys
// and tags are refused, which is also what keeps a small file from becoming a large one.
package scenario
