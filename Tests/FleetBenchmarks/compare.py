#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 Stepwise contributors

"""A fleet beside pgqueuer, procrastinate and DBOS, in turns on one server.

    python3 -m pip install pgqueuer procrastinate dbos asyncpg 'psycopg[binary,pool]'
    swift build -c release --package-path Tests/FleetBenchmarks
    PGHOST=… PGPORT=… PGUSER=… PGDATABASE=… python3 Tests/FleetBenchmarks/compare.py [ROUNDS [ROW]]

Rows are medians of the rounds; with ROW, only those whose names contain it. The server should have fsync on and nothing
else to do; it creates and drops the tables of all four in the database. Jobs do nothing: what is measured is the queue.
"""

import asyncio, os, statistics, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, ".build", "release", "FleetBenchmarks")
ENV = {name: os.environ[name] for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE")}
CONNECTION = "host={PGHOST} port={PGPORT} user={PGUSER} dbname={PGDATABASE}".format(**ENV)
URL = "postgresql://{PGUSER}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**ENV)
SINGLE, BULK, SLOTS, CLIENTS = 2_000, 20_000, 16, 16


def psql(sql):
    command = ["psql", "-X", "-q", "-A", "-t", "-c", sql]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


async def shared(count, clients, one):
    """Calls `one` for each number, from so many tasks at once; returns calls a second."""
    began = time.monotonic()

    async def client(number):
        for index in range(number, count, clients):
            await one(index)

    await asyncio.gather(*(client(number) for number in range(clients)))
    return count / (time.monotonic() - began)


class Pgqueuer:
    name, remaining, can_bulk, jobs = "pgqueuer", "SELECT count(*) FROM pgqueuer", True, 8_000

    def reset(self):
        async def install():
            import asyncpg
            from pgqueuer import AsyncpgDriver, Queries

            connection = await asyncpg.connect(URL)
            queries = Queries(AsyncpgDriver(connection))
            if await queries.schema_is_installed():
                await queries.uninstall()
            await queries.install()
            await connection.close()

        asyncio.run(install())

    def enqueue(self, count, clients):
        async def run():
            import asyncpg
            from pgqueuer import AsyncpgPoolDriver, Queries

            async with asyncpg.create_pool(URL, min_size=clients, max_size=clients) as pool:
                queries = Queries(AsyncpgPoolDriver(pool))
                if clients > 1:
                    return await shared(count, clients, lambda _: queries.enqueue("job", b"1"))
                began = time.monotonic()
                for start in range(0, count, 5_000):
                    size = min(5_000, count - start)
                    await queries.enqueue(["job"] * size, [b"1"] * size, [0] * size)
                return count / (time.monotonic() - began)

        return asyncio.run(run())

    def work(self):
        async def run():
            import asyncpg
            from datetime import timedelta
            from pgqueuer import AsyncpgDriver, Queries, QueueManager

            manager = QueueManager(Queries(AsyncpgDriver(await asyncpg.connect(URL))))

            @manager.entrypoint("job")
            async def job(job):
                pass

            await manager.run(dequeue_timeout=timedelta(seconds=1), batch_size=SLOTS)

        asyncio.run(run())


class Procrastinate:
    name, can_bulk, jobs = "procrastinate", True, 1_000
    remaining = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"

    def app(self, size):
        import procrastinate

        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=CONNECTION, min_size=1, max_size=size))

        @app.task(name="job")
        async def job():
            pass

        return app, job

    def reset(self):
        psql(
            """DO $$ DECLARE r record; BEGIN
            FOR r IN SELECT oid::regprocedure AS f FROM pg_proc WHERE proname LIKE 'procrastinate%' LOOP
              EXECUTE 'DROP FUNCTION IF EXISTS ' || r.f || ' CASCADE'; END LOOP;
            FOR r IN SELECT relname FROM pg_class WHERE relname LIKE 'procrastinate%' AND relkind = 'r' LOOP
              EXECUTE 'DROP TABLE ' || r.relname || ' CASCADE'; END LOOP;
            FOR r IN SELECT typname FROM pg_type WHERE typname LIKE 'procrastinate%' AND typtype IN ('e', 'c') LOOP
              EXECUTE 'DROP TYPE IF EXISTS ' || r.typname || ' CASCADE'; END LOOP; END $$"""
        )

        async def install():
            app, _ = self.app(2)
            async with app.open_async():
                await app.schema_manager.apply_schema_async()

        asyncio.run(install())

    def enqueue(self, count, clients):
        async def run():
            app, job = self.app(clients)
            async with app.open_async():
                if clients > 1:
                    return await shared(count, clients, lambda _: job.defer_async())
                began = time.monotonic()
                for start in range(0, count, 5_000):
                    await job.batch_defer_async(*({} for _ in range(min(5_000, count - start))))
                return count / (time.monotonic() - began)

        return asyncio.run(run())

    def work(self):
        async def run():
            app, _ = self.app(SLOTS)
            async with app.open_async():
                await app.run_worker_async(concurrency=SLOTS, install_signal_handlers=False)

        asyncio.run(run())


class Dbos:
    name, can_bulk, jobs = "DBOS", False, 1_000
    remaining = "SELECT count(*) FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"

    def launch(self, listens):
        from dbos import DBOS

        url = URL.replace("postgresql://", "postgresql+psycopg://")
        DBOS(config={"name": "compare", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR"})

        @DBOS.workflow(name="job")
        def job(number):
            pass

        if not listens:
            DBOS.listen_queues([])
        DBOS.launch()
        # At the default of a second, the interval would be what is measured: 16 jobs a second for each worker.
        DBOS.register_queue("queue", worker_concurrency=SLOTS, polling_interval_sec=0.01)

    def reset(self):
        psql("DROP SCHEMA IF EXISTS dbos CASCADE")
        subprocess.run([sys.executable, __file__, "reset-dbos"], check=True, capture_output=True)

    def enqueue(self, count, clients):
        command = [sys.executable, __file__, "enqueue-dbos", str(count), str(clients)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])

    def enqueue_here(self, count, clients):
        from dbos import DBOSClient

        client = DBOSClient(system_database_url=URL.replace("postgresql://", "postgresql+psycopg://"))

        def run(number):
            for index in range(number, count, clients):
                client.enqueue({"workflow_name": "job", "queue_name": "queue"}, index)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(count / (time.monotonic() - began))

    def work(self):
        self.launch(True)
        threading.Event().wait()


class Fleet:
    name, can_bulk, jobs = "Stepwise", True, 16_000
    remaining = "SELECT count(*) FROM stepwise_benchmark.jobs WHERE finished_at IS NULL"

    def run(self, *arguments):
        environment = dict(os.environ, STEPWISE_POSTGRES=CONNECTION)
        return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True, env=environment).stdout

    def reset(self):
        psql("DROP SCHEMA IF EXISTS stepwise_benchmark CASCADE")

    def enqueue(self, count, clients):
        return float(self.run("enqueue-jobs", str(count), str(clients)).split()[-1])

    def process(self):
        return subprocess.Popen([PROGRAM, "work-one"], env=dict(os.environ, STEPWISE_POSTGRES=CONNECTION))


CONTESTANTS = [Fleet(), Pgqueuer(), Procrastinate(), Dbos()]


def processes(contestant, count):
    if isinstance(contestant, Fleet):
        return [contestant.process() for _ in range(count)]
    command = [sys.executable, __file__, "work", contestant.name]
    quiet = subprocess.DEVNULL
    return [subprocess.Popen(command, stdout=quiet, stderr=quiet) for _ in range(count)]


def stop(workers):
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()


def rate(contestant, workers, jobs):
    """Jobs a second between a tenth and nine tenths of the jobs, so that starting the programs does not count."""
    contestant.reset()
    contestant.enqueue(jobs, 1 if contestant.can_bulk else CLIENTS)
    psql("ANALYZE")
    running = processes(contestant, workers)
    times, deadline = {}, time.monotonic() + 240
    try:
        while time.monotonic() < deadline:
            done, now = jobs - int(psql(contestant.remaining)), time.monotonic()
            if done >= jobs * 0.1:
                times.setdefault("first", (now, done))
            if done >= jobs * 0.9:
                first = times["first"]
                return (done - first[1]) / (now - first[0]) if now > first[0] else float("nan")
            time.sleep(0.05)
    finally:
        stop(running)
    return float("nan")


def main():
    arguments = sys.argv[1:]
    by_name = {contestant.name: contestant for contestant in CONTESTANTS}
    if arguments[:1] == ["work"]:
        return by_name[arguments[1]].work()
    if arguments[:1] == ["enqueue-dbos"]:
        return by_name["DBOS"].enqueue_here(int(arguments[1]), int(arguments[2]))
    if arguments[:1] == ["reset-dbos"]:
        by_name["DBOS"].launch(False)
        os._exit(0)
    rounds = int(arguments[0]) if arguments else 3
    rows = {
        f"single enqueue, {CLIENTS} clients, jobs/s": lambda c: c.reset() or c.enqueue(SINGLE, CLIENTS),
        "bulk enqueue, jobs/s": lambda c: c.reset() or c.enqueue(BULK, 1) if c.can_bulk else None,
        f"1 worker x {SLOTS}, jobs/s": lambda c: rate(c, 1, c.jobs),
        f"4 workers x {SLOTS}, jobs/s": lambda c: rate(c, 4, c.jobs),
    }
    print("| | " + " | ".join(c.name for c in CONTESTANTS) + " | beside the best other |")
    for row, measure in rows.items():
        if len(arguments) > 1 and arguments[1] not in row:
            continue
        values = {c.name: [] for c in CONTESTANTS}
        for number in range(rounds):
            for c in CONTESTANTS[number % 4:] + CONTESTANTS[:number % 4]:
                try:
                    values[c.name].append(measure(c))
                except subprocess.CalledProcessError as error:
                    print(c.name, error, error.stderr, file=sys.stderr)
        medians = {name: statistics.median(v for v in vs if v is not None) if any(vs) else None for name, vs in values.items()}
        best = max(value for name, value in medians.items() if value is not None and name != "Stepwise")
        cells = " | ".join("" if value is None else f"{value:,.0f}" for value in medians.values())
        print(f"| {row} | {cells} | {medians['Stepwise'] / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
