package advise

// Options are the options of mongod.conf that are written.
var Options = mongodOptions

// Option is one of them.
type Option = mongodOption

func (o *mongodOption) Path() string             { return o.path }
func (o *mongodOption) Kind() string             { return o.kind }
func (o *mongodOption) Check(value string) error { return o.check(value) }
