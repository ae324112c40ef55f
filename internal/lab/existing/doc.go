// Package existing is a server that runs already, and what a run may do there.
//
// Whoever lets a stranger's load into a database wants to know three things before: what it makes
// there, how much it writes, and that it is gone afterwards. So a run makes one database of its
// own, or for etcd keys below one prefix, with a name that nothing else has ([NewName]); it says so
// beforehand in a sentence ([Intent]); and it removes nothing but what is called that, when it
// ends, however it ends.
//
//	address, err := existing.KindsOf(engines).Parse("postgres://me@db-1/", os.Getenv)
//	server, err := engine.NewExisting(sc, existing.Options{Address: address})  // a lab.Server that starts no process
//	seen, err := server.Inspect(ctx, sc)                                       // connects and asks; writes nothing
//	plan := existing.IntentOf(address, name, sc, seen).Plan()
//
// An [Address] holds a password that it never shows: what prints it, prints it without. Errors of
// drivers go through [Address.Redact], since some repeat what they were given.
package existing
