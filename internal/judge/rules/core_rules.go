package rules

// coreRules are the rules that belong to no engine, except those about missing sources.
func (p *Pack) coreRules() []Rule {
	return []Rule{
		clientsSlow(),
		clientsSlowest(),
		fewAndLong(),
		gotWorse(),
		diskSlowWrites(),
		diskSlowReads(),
		diskIOPSCapped(),
		diskThroughputCapped(),
		diskAlwaysBusy(),
		diskInstanceCapped(),
		diskMachineCapped(),
		diskProviderCapped(),
		diskVolumeStalled(),
		diskBurstExhausted(),
		diskInstanceBurst(),
		diskWriteBursts(),
		diskDegraded(),
		diskSlowMember(),
		diskLayerSlow(),
		diskFirstTouch(),
		diskLatencyBound(),
		diskNotTheCause(),
		diskLimitsUnused(),
		diskSinceBoot(),
		diskLoggedSyncs(),
		goodEnough(),

		hostWritebackBacklog(),
		hostWritebackThrottling(),
		hostMemoryLimit(),
		hostSwapping(),
		hostCPUSaturated(),
		hostCPUStolen(),
		hostIOThrottled(),
		hostAnotherProgram(),
		hostIOPressure(),

		containerIOLimit(),
		containerCPUThrottled(),
		containerMemoryLimit(),
	}
}
