package rules

// Pack is every rule, in the order they are judged. The order of findings is
// another matter: they are ranked by what they explain.
func Pack() []Rule {
	return []Rule{
		evidenceGap(),

		mongodbSlowWrites(),
		mongodbSlowReads(),
		postgresCommitStall(),
		diskSlowWrites(),

		diskIOPSCapped(),
		diskThroughputCapped(),
		diskInstanceCapped(),
		diskBurstExhausted(),
		diskLatencyBound(),
		diskNotTheCause(),

		hostWritebackBacklog(),
		hostMemoryLimit(),
		hostCPUSaturated(),
		hostIOThrottled(),

		containerIOLimit(),
		containerCPUThrottled(),
		containerMemoryLimit(),

		wiredtigerCheckpointStall(),
		wiredtigerJournalStall(),
		wiredtigerCachePressure(),
		wiredtigerAppEviction(),
		wiredtigerTicketQueue(),
		wiredtigerWriteAmplification(),
		mongodbFlowControl(),
		mongodbWriteConcernWait(),

		etcdWALFsyncSlow(),
		etcdBackendCommitSlow(),
		etcdSlowMember(),

		postgresCheckpointBurst(),
		postgresCheckpointRequested(),
		postgresBackendWrites(),

		irisWriteDaemonStall(),
	}
}
