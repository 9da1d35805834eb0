import asyncio
import sys

import asyncpg


async def ask(address):
    connection = await asyncpg.connect(address)
    print(await connection.fetchval("select 40 + $1::int", 2))
    await connection.close()


asyncio.run(ask(sys.argv[1]))
