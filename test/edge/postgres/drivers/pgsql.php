<?php
$connection = pg_connect($argv[1]);
echo pg_fetch_result(pg_query_params($connection, 'select 40 + $1::int', [2]), 0, 0), "\n";
