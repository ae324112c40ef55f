// Package discover derives a scenario from a database in Kubernetes: what is deployed, according to the
// cluster's objects.
//
// It reads the StatefulSet, its pods, claims, volumes, classes, nodes and ConfigMaps, but no Secrets. Each
// value names the object that it is based on. Values that the cluster does not have are assumed and
// labelled, above all the load. Discover reports missing permissions; if the object is optional, its values
// are assumed too.
//
// Each engine recognises its containers and parses their configuration ([Container]); this package names no
// engine.
package discover
