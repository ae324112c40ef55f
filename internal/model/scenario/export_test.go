package scenario

import "plimsoll/internal/base/yamltree"

// What tests compare with.
const FileBytesMax = yamltree.BytesMax

var FieldsText = fieldsText
