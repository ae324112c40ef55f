// Package existing is a server that runs already, and what a run may do there.
//
// Whoever lets a stranger's load into a database wants to know three things before: what it makes there, how much
// it writes, and that it is gone afterwards. So a run makes one database of its own, or for etcd keys below one prefix,
// with a name that nothing else has ([NewName]); it says so beforehand in a sentence ([Intent]); and it removes nothing
// but what is called that, when it ends, however it ends.
//
//	address, err := visit.Parse("postgres://me@db-1/", os.Getenv)
//	guest := postgres.Visit(address, ...)                    // a Guest: a lab.Server that starts no process
//	sight, err := guest.Look(ctx, sc)                        // connects and asks; writes nothing
//	question := visit.IntentOf(address, name, sc, sight).Question()
//
// An [Address] holds a password that it never shows: what prints it, prints it without. Errors of drivers go through
// [Address.Redact], since some repeat what they were given.
package existing
