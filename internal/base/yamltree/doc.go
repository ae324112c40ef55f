// Package yamltree reads YAML that people write by hand into Go values, and says all that is wrong
// with it, each with its place.
//
// A text becomes a tree of nodes ([Parse]), which values can be put into ([Assigned], [Node.Put]). A
// [Decoder] puts the tree into structs with YAML tags, and a [Source] shows the line of a problem
// with a mark under the place. Values become trees again by [Encode], and text by [Node.YAML].
//
// YAML is read plainly: one document of mappings, lists and scalars. Anchors, aliases, merge keys
// and tags are refused, which is also what keeps a small file from becoming a large one.
package yamltree
