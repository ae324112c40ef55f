package judge

// Signals that no rule judges by: what is deployed and what is asked of it, for whoever makes a
// scenario of a recording.
var (
	GlobalReferences = signal("iris_global_references:rate", "1/s", "global references per second, updates among them",
		`max(iris_glo_ref_per_sec)`)
)
