require 'pg'

connection = PG.connect(ARGV[0])
puts connection.exec_params('select 40 + $1::int as sum', [2])[0]['sum']
