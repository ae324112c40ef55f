package hostile

// written holds files of formats for which the repository has no file.
var written = map[string]string{
	"diskstats": "1790000000.5\n 259 0 nvme0n1 10 0 80 5 100 3 1600 90 0 50 95 0 0 0 0 7 3\n 8 0 sda 1 0 8 1 1 0 8 1 0 1 2\n" +
		"1790000001.5\n 259 0 nvme0n1 20 0 160 9 200 5 3200 190 1 99 195 0 0 0 0 9 4\n 8 0 sda 2 0 16 2 2 0 16 2 0 2 4\n",
	"Prometheus' JSON": `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_disk_writes_completed_total",` +
		`"device":"nvme0n1","instance":"db-1:9100"},"values":[[1790000000,"100"],[1790000015.5,"NaN"],[1790000030,"2e3"]]}]}}`,
	"pg_test_fsync": "5 seconds per test\nO_DIRECT supported on this platform for open_datasync and open_sync.\n\n" +
		"Compare file sync methods using one 8kB write:\n(in \"wal_sync_method\" preference order, except fdatasync is Linux's default)\n" +
		"        open_datasync                      1525.311 ops/sec     656 usecs/op\n" +
		"        fdatasync                          1493.120 ops/sec     670 usecs/op\n" +
		"        fsync                               732.554 ops/sec    1365 usecs/op\n",
	"check perf": "60 / 60 Boooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo! 100.00% 1m0s\n" +
		"PASS: Throughput is 150 writes/s\nPASS: Slowest request took 0.087509s\nPASS: Stddev is 0.007104s\nPASS\n",
	"mongod's log": `{"t":{"$date":"2026-01-05T10:00:00.000+00:00"},"s":"I",  "c":"CONTROL",  "id":23403,   "ctx":"initandlisten","msg":"Build Info","attr":{"buildInfo":{"version":"6.0.5","gitVersion":"abc"}}}` + "\n" +
		`{"t":{"$date":"2026-01-05T10:00:40.000+00:00"},"s":"I",  "c":"WTCHKPT",  "id":22430,   "ctx":"Checkpointer","msg":"WiredTiger message","attr":{"message":{"msg":"Checkpoint ran for 30 seconds and wrote: 8000 pages (140 MB)"}}}` + "\n" +
		`{"t":{"$date":"2026-01-05T10:00:41.000+00:00"},"s":"I",  "c":"WRITE",    "id":51803,   "ctx":"conn42","msg":"Slow query","attr":{"type":"update","ns":"shop.orders","command":{"q":{"_id":1},"u":{"$set":{"a":1}}},"planSummary":"IDHACK","locks":{"Global":{"acquireCount":{"w":1},"timeAcquiringMicros":{"w":200000}}},"flowControl":{"acquireCount":1,"timeAcquiringMicros":100000},"storage":{"data":{"bytesRead":4096,"timeReadingMicros":300000},"timeWaitingMicros":{"cache":400000,"schemaLock":50000}},"durationMillis":1500}}` + "\n" +
		`{"t":{"$date":"2026-01-05T10:00:46.000+00:00"},"s":"W",  "c":"STORAGE",  "id":22223,   "ctx":"FlowControlRefresher","msg":"Flow control is engaged and the sustainer point is not moving. Please check the health of all secondaries."}` + "\n" +
		`{"t":{"$date":"2026-01-05T10:00:47.000+00:00"},"s":"I",  "c":"ELECTION", "id":21450,   "ctx":"ReplCoord-1","msg":"Election succeeded, assuming primary role","attr":{"term":4}}` + "\n",
	"mongod's log before 4.4": `2026-01-05T10:00:00.000+0000 I  CONTROL  [initandlisten] db version v4.2.9` + "\n" +
		`2026-01-05T10:00:40.000+0000 I  STORAGE  [WTCheckpointThread] WiredTiger message [1767607240:1][1:0x7fd], WT_SESSION.checkpoint: Checkpoint ran for 30 seconds and wrote: 8000 pages (140 MB)` + "\n" +
		`2026-01-05T10:00:41.000+0000 I  WRITE    [conn42] update shop.orders command: { q: { _id: 1 }, u: { $set: { a: 1 } } } planSummary: IDHACK keysExamined:1 flowControl:{ acquireCount: 1, timeAcquiringMicros: 100000 } storage:{ data: { bytesRead: 4096, timeReadingMicros: 300000 }, timeWaitingMicros: { cache: 400000 } } 1500ms` + "\n" +
		`2026-01-05T10:00:46.000+0000 W  STORAGE  [FlowControlRefresher] Flow control is engaged and the sustainer point is not moving. Please check the health of all secondaries.` + "\n" +
		`2026-01-05T10:00:48.000+0000 I  REPL     [replexec-2] Stepping down from primary, because a new term has begun: 5` + "\n",
	"etcd's log": `{"level":"info","ts":"2026-01-05T10:00:00.100Z","caller":"embed/etcd.go:308","msg":"starting an etcd server","etcd-version":"3.5.9"}` + "\n" +
		`{"level":"info","ts":"2026-01-05T10:00:01.000Z","logger":"raft","caller":"etcdserver/zap_raft.go:77","msg":"raft.node: 8e9e05c52164694d elected leader 8e9e05c52164694d at term 2"}` + "\n" +
		`{"level":"warn","ts":"2026-01-05T10:00:10.000Z","caller":"wal/wal.go:805","msg":"slow fdatasync","took":"2.5s","expected-duration":"1s"}` + "\n" +
		`{"level":"warn","ts":"2026-01-05T10:00:10.000Z","caller":"etcdserver/raft.go:416","msg":"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk","to":"1a","heartbeat-interval":"100ms","expected-duration":"200ms","exceeded-duration":"2.25s"}` + "\n" +
		`{"level":"warn","ts":"2026-01-05T10:00:10.001Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"1.5s","expected-duration":"100ms","prefix":"","request":"header:<ID:7 > put:<key:\"a\" value_size:2 >","response":"size:4"}` + "\n" +
		`{"level":"info","ts":"2026-01-05T10:00:11.000Z","caller":"mvcc/kvstore_compaction.go:68","msg":"finished scheduled compaction","compact-revision":7,"took":"250ms"}` + "\n" +
		`{"level":"info","ts":"2026-01-05T10:00:13.000Z","logger":"raft","caller":"etcdserver/zap_raft.go:77","msg":"raft.node: 8e9e05c52164694d elected leader 1a at term 3"}` + "\n",
	"etcd's log before 3.5": `2026-01-05 10:00:00.000000 I | etcdmain: etcd Version: 3.3.25` + "\n" +
		`2026-01-05 10:00:01.000000 I | raft: raft.node: 8e9e05c52164694d elected leader 8e9e05c52164694d at term 2` + "\n" +
		`2026-01-05 10:00:10.000000 W | wal: sync duration of 2.5s, expected less than 1s` + "\n" +
		`2026-01-05 10:00:10.000000 W | etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 2.25s, to 1a)` + "\n" +
		`2026-01-05 10:00:10.001000 W | etcdserver: request "header:<ID:7 > put:<key:\"a\" value_size:2 >" with result "size:4" took too long (1.5s) to execute` + "\n" +
		`2026-01-05 10:00:11.000000 I | mvcc: finished scheduled compaction at 7 (took 250ms)` + "\n",
	"mongosh's status": "{\n  host: 'db-1:27017',\n  version: '7.0.5',\n  uptimeMillis: Long('10000'),\n" +
		"  localTime: ISODate('2026-11-21T02:00:00.500Z'),\n  opcounters: { insert: Long('5'), deprecated: [Object] },\n" +
		"  opLatencies: {\n    writes: { latency: Long('64000000000'), ops: Long('2000000') }\n  },\n" +
		"  '$clusterTime': { clusterTime: Timestamp({ t: 1795226400, i: 1 }) },\n  ok: 1\n}\n",
	"mongo's status": "rs0:PRIMARY> db.serverStatus()\n{\n\t\"host\" : \"db-1:27017\",\n\t\"version\" : \"4.4.6\",\n" +
		"\t\"uptimeMillis\" : NumberLong(10000),\n\t\"localTime\" : ISODate(\"2026-11-21T02:00:00.500Z\"),\n" +
		"\t\"opLatencies\" : { \"writes\" : { \"latency\" : NumberLong(\"64000000000\"), \"ops\" : NumberLong(2000000) } },\n" +
		"\t\"sig\" : BinData(0,\"AA=\"),\n\t\"ok\" : 1\n}\nrs0:PRIMARY> \n",
	"vmstat": "--procs-- ---------memory--------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n" +
		"   r    b  swpd     free   buff    cache   si   so    bi    bo   in   cs  us  sy  id  wa  st                 UTC\n" +
		"  29    0     0  6356020 421656 16146380    0    0 10242  7023 2067 4671  73  14  11   2   0 2026-11-21 01:00:00\n" +
		"  26    2     0  6356020 421656 16146380    0    0    20   500 7134 16857 78  22   0   0   0 2026-11-21 01:00:10\n",
	"CSV with a column per series": `"Time","node_disk_io_time_seconds_total{device=""sda"", instance=""db:9100""}","write latency"` + "\n" +
		"2026-01-05 10:00:00,130.5,2 ms\n2026-01-05 10:00:15,140,3 ms\n",
	"CSV with a line per value": `"Series";"Time";"Value"` + "\n" +
		`"node_disk_io_time_seconds_total{device=""sda""}";"2026-01-05T10:00:00+00:00";130.5` + "\n" +
		`"node_disk_io_time_seconds_total{device=""sda""}";"2026-01-05T10:00:15+00:00";140` + "\n",
	"sysbench": "Running the test with following options:\nNumber of threads: 8\nReport intermediate results every 10 second(s)\n\n" +
		"[ 10s ] thds: 8 tps: 100.00 qps: 2000.00 (r/w/o: 1400.00/400.00/200.00) lat (ms,95%): 90.50 err/s: 0.00 reconn/s: 0.00\n" +
		"[ 20s ] thds: 8 tps: 50.00 qps: 1000.00 (r/w/o: 700.00/200.00/100.00) lat (ms,95%): 190.50 err/s: 0.00 reconn/s: 0.00\n",
	"YCSB": "2026-11-21 02:00:00:213 0 sec: 0 operations; est completion in 0 second\n" +
		"2026-11-21 02:00:10:213 10 sec: 150 operations; 15 current ops/sec; [READ: Count=100, Max=12031, Min=249, Avg=1500.5, " +
		"90=2625, 99=7915, 99.9=9551, 99.99=11385] [UPDATE: Count=50, Max=22031, Min=249, Avg=2000, 90=2625, 99=8000]\n" +
		"2026-11-21 02:00:20:213 20 sec: 250 operations; 10 current ops/sec; [READ: Count=100, Max=12031, Min=249, Avg=1500,5]\n" +
		"[OVERALL], RunTime(ms), 20213\n[READ], Operations, 200\n[READ], AverageLatency(us), 1500.5\n",
}
