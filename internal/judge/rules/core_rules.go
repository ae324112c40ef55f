package rules

// coreRules are the rules that belong to no engine, except those about what the sources lack.
func (p *Pack) coreRules() []Rule {
	return []Rule{
		fewAndLong(),
		gotWorse(),
		diskSlowWrites(),
		diskSlowReads(),
		diskIOPSCapped(),
		diskThroughputCapped(),
		diskInstanceCapped(),
		diskBurstExhausted(),
		diskInstanceBurst(),
		diskDegraded(),
		diskLatencyBound(),
		diskNotTheCause(),

		hostWritebackBacklog(),
		hostWritebackThrottling(),
		hostMemoryLimit(),
		hostCPUSaturated(),
		hostIOThrottled(),

		containerIOLimit(),
		containerCPUThrottled(),
		containerMemoryLimit(),
	}
}
