#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 Stepwise contributors

"""A server at a distance: a proxy that delivers what it receives after half of a round trip, in both directions.

    python3 Tests/FleetBenchmarks/delay.py PORT SERVER_PORT ROUND_TRIP_MS &
    STEPWISE_POSTGRES='host=127.0.0.1 port=PORT user=… dbname=…' FleetBenchmarks throughput latency

It limits no bandwidth, and what was sent while something else is under way is delayed by the same time.
"""

import asyncio, collections, socket, sys

PORT, SERVER, DELAY = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 2_000


async def forward(reader, writer):
    """Delivers each piece when its time has come, in order."""
    loop, pieces, more = asyncio.get_running_loop(), collections.deque(), asyncio.Event()

    async def receive():
        data = True
        while data:
            data = await reader.read(262_144)
            pieces.append((loop.time() + DELAY, data))
            more.set()

    receiving = asyncio.create_task(receive())
    try:
        while True:
            while not pieces:
                more.clear()
                await more.wait()
            due, data = pieces.popleft()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            if not data:
                break
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        receiving.cancel()
        writer.close()


async def accept(reader, writer):
    server_reader, server_writer = await asyncio.open_connection("127.0.0.1", SERVER)
    for end in (writer, server_writer):
        end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    await asyncio.gather(forward(reader, server_writer), forward(server_reader, writer), return_exceptions=True)


async def main():
    async with await asyncio.start_server(accept, "127.0.0.1", PORT) as server:
        await server.serve_forever()


asyncio.run(main())
