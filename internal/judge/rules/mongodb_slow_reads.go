package rules

func mongodbSlowReads() Rule {
	r := symptom("mongodb/slow-reads", "Reads stall", EngineMongoDB,
		"plimsoll:mongodb_read_latency:seconds >= 0.1",
		"What the clients feel. A volume has one queue: reads wait behind the writes of a checkpoint.")
	// A server nobody reads from has no latency of reads, and yet it was watched.
	r.Needs = []string{SignalPrefix + "mongodb_reads:rate", SignalPrefix + "mongodb_read_waiting:ratio"}
	return r
}
