// Package corerules contains the rules that belong to no engine: those about clients, disks, hosts,
// containers and missing evidence. Package rules defines the language that they are written in.
//
// Each rule has one file here, one script in testdata with a positive, a negative and a
// not-measurable case, and one page in docs/rules.
package corerules

import (
	"embed"

	"plimsoll/internal/judge/rules"
)

// scripts are the rules' test scripts, testdata/<id with - for />.test, inside the program: package
// ruletest runs them.
//
//go:embed testdata/*.test
var scripts embed.FS

// NewPack makes the pack of these rules and those of the given engines. It panics like [rules.NewPack].
func NewPack(engines []rules.Knowledge) *rules.Pack {
	return rules.NewPack(rules.Core{
		Evidence: []rules.Rule{evidenceGap(), evidenceElsewhere()},
		Rules:    inOrder(),
		Scripts:  scripts,
	}, engines)
}

// inOrder returns the rules in the order in which they are judged, without those about missing sources.
func inOrder() []rules.Rule {
	return []rules.Rule{
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
