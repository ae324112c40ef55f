// Package emit writes the files that apply a layout: StorageClasses, mongod.conf, a script for LVM,
// Terraform. A layout is what a plan chose, or what a user tried with --set.
//
// Its input is two scenarios, before and after. It writes only the differences, each with the old
// value, the new value and the reason, because an operator will read the file before applying it,
// perhaps at night. If none of the chosen targets can apply a difference, the README lists it.
//
// # What to know before using it
//
// Emit applies nothing itself. Each target's tests run the tool that the files are for: the types and
// schemas of the Kubernetes API, etcd and PostgreSQL themselves, HCL's parser, shellcheck.
//
// Scripts never create a file system on a device that contains anything (see lvm.bash). An EBS volume
// cannot shrink, and cannot be modified until its last modification is completed, so a script refuses
// instead of applying half of the changes. The claim templates of a StatefulSet are immutable, so its
// patch comes with instructions to work around that.
//
// [Folder.Write] writes the files one by one. An error undoes them all, and after a kill the next run
// continues. A manifest with checksums identifies files that were edited since; they are only
// overwritten with --force. Nothing else in the folder is touched.
package emit
