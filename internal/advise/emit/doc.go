// Package emit writes the files that apply a layout: what a plan chose, or what a person tried with
// --set, as StorageClasses, mongod.conf, a script for LVM, Terraform.
//
// Its input is two scenarios, before and after. Only what differs is written, each value with what
// it was, what it becomes and why, since a person will read the file before it is applied, perhaps
// at night. A difference that none of the asked targets can apply is told, not dropped: it stands
// in the README beside the files.
//
// # What to know before using it
//
// Nothing is applied here. The files are for the tools that apply them, and each target's tests
// hand them to that tool: the Kubernetes API's own types and schemas, etcd and PostgreSQL
// themselves, HCL's parser, shellcheck.
//
// Scripts never make a file system on a device that carries anything (see lvm.bash); an EBS volume
// cannot shrink, and is modified at most once in six hours, so a script refuses rather than half
// applies; the claim templates of a StatefulSet cannot be changed, so its patch comes with the way
// around that.
//
// A folder is written as a whole or not at all ([Write]). A manifest with checksums tells files
// that a person has edited since, which are not written over unless that is asked for.
package emit
