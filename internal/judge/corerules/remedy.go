package corerules

// Reasons why some advice has no command.
const (
	nothingToDo     = "there is nothing to change"
	changesInstance = "changing the instance type requires stopping the instance, which loses the data on its instance store: follow your own procedure, one member at a time"
	lookUpVolume    = "it depends on what the volume is provisioned with: aws ec2 describe-volumes shows it"
)
