package rules

// Signals of the logs of Redis and ZooKeeper (package synclog).
var (
	RedisDelayed = core.Logged("redis_logged_delays", "redis_log_delayed_write", "writes delayed by a sync")
	RedisSaves   = core.Logged("redis_logged_saves", "redis_log_background_write",
		"background saves and rewrites")
	ZookeeperSyncs = core.Logged("zookeeper_logged_syncs", "zookeeper_log_slow_fsync",
		"slow syncs of the transaction log")
)
