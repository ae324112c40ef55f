# The same queue in SimPy: Poisson arrivals, one server that a request occupies for 1/IOPS, and a
# latency that passes beside it, from the same quantiles. Prints JSON.
#
# Arguments: requests, IOPS, load (share of the IOPS), quantiles as JSON [[share, seconds], ...].
#
# It is written to SimPy's advantage where there is a choice: the latency is added and not waited
# for, so a request costs two events (its grant and its release) and not three.
import bisect
import json
import random
import sys
import time

import simpy


def main():
    requests, iops, load = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    quantiles = json.loads(sys.argv[4])
    shares = [q[0] for q in quantiles]
    chance = random.Random(1)
    env = simpy.Environment()
    server = simpy.Resource(env, capacity=1)
    gap = 1 / iops
    took = []

    def latency():
        u = chance.random()
        i = min(bisect.bisect_right(shares, u), len(shares) - 1)
        (a, x), (b, y) = quantiles[i - 1], quantiles[i]
        return x + (y - x) * (u - a) / (b - a)

    def request():
        submitted = env.now
        with server.request() as granted:
            yield granted
            took.append(env.now + latency() - submitted)
            yield env.timeout(gap)

    def arrivals():
        for _ in range(requests):
            env.process(request())
            yield env.timeout(chance.expovariate(iops * load))

    began = time.perf_counter()
    env.process(arrivals())
    env.run()
    seconds = time.perf_counter() - began
    took.sort()
    print(json.dumps({
        "version": simpy.__version__,
        "seconds": seconds,
        "p50": took[len(took) // 2],
        "p99": took[len(took) * 99 // 100],
    }))


main()
