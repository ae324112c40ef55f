package scenario

import "plimsoll/internal/base/yamltree"

// Unexported functions that tests compare with.
const FileBytesMax = yamltree.BytesMax

var FieldsText = fieldsText
