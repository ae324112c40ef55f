// Package kubeclient reads and changes the Kubernetes objects that concern a database: StatefulSets,
// pods, claims, volumes and their classes, nodes and configuration.
//
// It logs in like kubectl: with a kubeconfig and one of its contexts, or with the service account
// of the pod that it runs in. It uses the API's JSON and Go types directly, because the client sets
// of all API groups are large.
//
// It never overwrites an object that another client changed in the meantime: updates carry the
// version that was read, and [IsConflict] recognises the refusal.
package kubeclient
