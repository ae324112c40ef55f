package emit

// What tests of real layouts use from the package.
var (
	LogScript = machineScript()
	LVMScript = withFunctions(lvmScript)
	AWSScript = withFunctions(cloudScript) + "\n" + awsScript
)

func (l *Layout) Slug() string { return l.slug() }

func Unified(name string, before, after []byte) string {
	return unified(name, before, after, true, true)
}

// QueueScript is what all scripts of devices' queues share.
var QueueScript = withFunctions(queueScript)
