// Package cluster reads and changes the objects of a Kubernetes cluster that concern a database:
// StatefulSets, pods, claims, volumes, their classes, nodes and configuration.
//
// It logs in as kubectl does: by a kubeconfig and one of its contexts, or with the service account
// of the pod that it runs in. It speaks the API's JSON and decodes it into the API's own types,
// without the client sets of all its groups.
//
// An object that another client changed meanwhile is never overwritten: updates carry the version
// that was read, and [IsConflict] recognises the refusal.
package cluster
