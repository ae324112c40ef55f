package emit

// Exports for tests of real layouts.
var (
	LogScript = machineScript()
	LVMScript = withFunctions(lvmScript)
	AWSScript = withFunctions(cloudScript) + "\n" + awsScript
)

func (l *Transition) Slug() string { return l.slug() }

func Unified(name string, before, after []byte) string {
	return unified(name, before, after, true, true)
}

// QueueScript is the common part of all scripts for devices' queues.
var QueueScript = withFunctions(queueScript)
