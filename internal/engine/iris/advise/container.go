package advise

import "plimsoll/internal/advise/discover"

// Container describes how an instance runs in a container. Its configuration is in its own file,
// which is not a Kubernetes object.
func Container() discover.Container {
	return discover.Container{Images: []string{"iris", "irishealth", "iris-community", "irishealth-community"},
		Programs: []string{"iris"}}
}
