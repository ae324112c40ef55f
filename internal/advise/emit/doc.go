// Package emit writes the files that apply a layout (what a plan chose, or what a user tried with
// --set) as StorageClasses, mongod.conf, a script for LVM, Terraform.
//
// Its input is two scenarios, before and after. It writes only what differs, each value with its
// old value, its new value and the reason, because somebody will read the file before applying it,
// perhaps at night. A difference that none of the chosen targets can apply is not dropped: the
// README beside the files lists it.
//
// # What to know before using it
//
// Emit applies nothing. The files are for the tools that apply them, and each target's tests run
// that tool on them: the Kubernetes API's own types and schemas, etcd and PostgreSQL themselves,
// HCL's parser, shellcheck.
//
// Scripts never make a file system on a device that contains anything (see lvm.bash). An EBS volume
// cannot shrink, and cannot be modified before the last modification is completed, so a script
// refuses rather than applying half of the changes. The claim templates of a StatefulSet cannot be
// changed, so its patch comes with instructions to work around that.
//
// Files are written one by one into their places ([Folder.Write]); an error undoes them all, and
// after a kill the next run continues. A manifest with checksums tells files that a person has
// edited since, which are not written over unless that is asked for. Nothing else in a folder is
// touched.
package emit
