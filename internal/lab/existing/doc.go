// Package existing describes an existing server, and what a run may do to it.
//
// Before running an unknown load against a database, users want to know three things: what it
// creates there, how much it writes, and that everything is removed afterwards. So a run creates
// one database (for etcd, keys below one prefix) under a unique name ([NewName]); it announces that
// in one sentence before it starts ([Intent]); and when it ends, for whatever reason, it removes
// everything with that name and nothing else.
//
// \taddress, err := existing.KindsOf(engines).Parse("postgres://me@db-1/", os.Getenv)
// \tserver, err := engine.NewExisting(sc, existing.Options{Address: address})  // a lab.Server that
// starts no process
// \tseen, err := server.Inspect(ctx, sc)                                       // connects and
// queries; writes nothing
// \tplan := existing.IntentOf(address, name, sc, seen).Plan()
//
// An [Address] holds a password and never prints it. Pass errors of drivers through
// [Address.Redact], because some quote the address.
package existing
