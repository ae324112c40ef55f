// Package existing describes an existing server, and what a run may do to it.
//
// Before you let unknown load into a database, you want to know three things: what it creates
// there, how much it writes, and that everything is gone afterwards. So a run creates one database
// of its own (for etcd, keys below one prefix) under a unique name ([NewName]); it announces that
// in one sentence before it starts ([Intent]); and when it ends, for whatever reason, it removes
// what has that name and nothing else.
//
//	address, err := existing.KindsOf(engines).Parse("postgres://me@db-1/", os.Getenv)
//	server, err := engine.NewExisting(sc, existing.Options{Address: address})  // a lab.Server that starts no process
//	seen, err := server.Inspect(ctx, sc)                                       // connects and asks; writes nothing
//	plan := existing.IntentOf(address, name, sc, seen).Plan()
//
// An [Address] holds a password and never prints it. Errors of drivers go through [Address.Redact],
// because some repeat the address.
package existing
