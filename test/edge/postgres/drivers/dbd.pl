# DBD::Pg takes the parts of an address, not the address: URI takes it apart.
use strict;
use DBI;

my ($user, $password, $host, $port, $database, $more) = $ARGV[0] =~ m{^postgresql://([^:]+):([^@]+)@([^:]+):(\d+)/(\w+)(?:\?(.*))?$};
my $connection = DBI->connect("dbi:Pg:dbname=$database;host=$host;port=$port" . ($more ? ";$more" : ''), $user, $password, { RaiseError => 1 });
print $connection->selectrow_array('select 40 + ?::int', undef, 2), "\n";
