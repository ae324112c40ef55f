// Package yamltree reads hand-written YAML into Go values, and reports all mistakes in it with
// their positions.
//
// [Parse] turns a text into a tree of nodes. Assignments can change it ([Assigned], [Node.Put]). A
// [Decoder] puts the tree into structs with YAML tags, and a [Source] shows the line of a problem
// with a mark under the position. [Encode] turns values into trees again, and [Node.YAML] turns
// trees into text.
//
// Only plain YAML is supported: one document of mappings, lists and scalars. Anchors, aliases,
// merge keys and tags are refused, which also prevents a small file from expanding into a huge one.
package yamltree
