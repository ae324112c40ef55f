// Package discover makes a scenario of a database that runs in Kubernetes: what is deployed, as the
// cluster's objects have it.
//
// It reads the StatefulSet, its pods, claims, volumes, classes, nodes and ConfigMaps, and no Secret.
// Each value names the object that it rests on. What the cluster does not know is assumed and says
// so: the load, above all. A permission that is missing is named; if the object can be done without,
// its values are assumed too.
//
// An engine recognises its containers and reads their configuration ([Container]); this package
// knows none by name.
package discover
