package scenario

// What tests compare with.
const FileBytesMax = fileBytesMax

var FieldsText = fieldsText
