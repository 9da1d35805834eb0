"""Makes a database, writes and reads rows, and deletes it. TOKEN is an admin's or an owner's."""

import time

from berth import call, graphql

ACTIVE_SECONDS = 300  # the first database of a host waits for its template

RUN_SQL = """
mutation ($database: ID!, $statement: String!, $parameters: JSON) {
  runSql(input: {databaseId: $database, statement: $statement, parameters: $parameters}) {
    result { rows }
    failure { message }
  }
}
"""

organization = graphql("{ viewer { organizationId } }")["viewer"]["organizationId"]
database = call("POST", "/api/v1/databases", {"organization_id": organization, "name": "from-python"})
try:
    # database["token"] is the password for Postgres' own protocol, as psycopg has it. It is shown only here.
    end = time.monotonic() + ACTIVE_SECONDS
    while database["status"] != "active":
        if database["status"] == "error" or time.monotonic() > end:
            raise SystemExit(f"The database is {database['status']}.")
        time.sleep(2)
        database = call("GET", "/api/v1/databases/{db_id}", db_id=database["id"])

    def run(statement, *parameters):
        """Runs one statement, without a connection of Postgres."""
        done = graphql(RUN_SQL, database=database["id"], statement=statement, parameters=list(parameters))["runSql"]
        if done["failure"]:
            raise SystemExit(done["failure"]["message"])
        return done["result"]["rows"]

    run("create table orders (id bigserial primary key, item text)")
    run("insert into orders (item) values ($1), ($2)", "a hat", "a coat")
    for row in run("select id, item from orders order by id"):
        print(*row)
finally:
    call("DELETE", "/api/v1/databases/{db_id}", db_id=database["id"])
