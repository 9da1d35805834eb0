/** What any proxy in Node costs at least: `node test/bench/peers/postgres-pipe.ts <server port> <port>` passes bytes on and looks at none. */
import { connect, createServer } from 'node:net'

const [serverPort = '', port = ''] = process.argv.slice(2)
createServer({ noDelay: true }, (client) => {
  const server = connect({ port: Number(serverPort), host: '127.0.0.1', noDelay: true })
  client.on('error', () => server.destroy()).pipe(server)
  server.on('error', () => client.destroy()).pipe(client)
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('listens\n'))
