// Package server is the lab's server that is not a database. It makes the same I/O as the model of
// the same name (package engine/streams) on mounted volumes, so that model and volume can be
// compared directly.
//
// A write is an append to one log and the fdatasync that makes it durable. One fdatasync runs at a
// time; appends that arrive meanwhile share the next one. With random_writes, a write is a direct
// write of a block instead, without any flush: if a volume acknowledges data and loses it, the data
// is lost here too. A read is a direct read of a random block.
//
// Records contain the key, the sequence number and a checksum, so that acknowledged writes can be
// found after a power loss and a torn record is recognised. The log starts over at its end, like
// fio's. If that overwrites the last record of a key, this process remembers the record, because it
// was durable while it existed.
//
//	record: magic 4, checksum 4 (of all that follows), length 4, lap 4, key 8, seq 8, payload
//
// A payload shorter than these 32 bytes makes a record of 32. Unlike in the model, data is written
// before it is read: at most 512 MiB, because writing 100 GiB at a rented volume's throughput takes
// a quarter of an hour.
package server
