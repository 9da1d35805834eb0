import sys
import psycopg

with psycopg.connect(sys.argv[1]) as connection:
    print(connection.execute("select 40 + %s", (2,)).fetchone()[0])
