import sys
import psycopg2

with psycopg2.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute("select 40 + %s", (2,))
    print(cursor.fetchone()[0])
