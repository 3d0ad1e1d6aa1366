/** Where the proxy is found inside: the network there is empty, so every port is free. */
export const PROXY_PORT = 3128

/**
 * Runs inside, as the parent of the agent: the network there is a loopback with nothing on it. Listens where the agent looks for its proxy
 * and hands what it hears to the Unix socket of ours; the same for the ports of this machine that are listed. Then it starts the agent,
 * with its own standard streams, and ends as it ends. Plain JavaScript, for `node -e`.
 */
export const BRIDGE_SCRIPT = `
const net = require('node:net')
const { spawn } = require('node:child_process')
const { constants } = require('node:os')
const { socket, proxyPort, ports, command, args } = JSON.parse(process.argv[1])
const join = (a, b) => {
  a.pipe(b).pipe(a)
  for (const [one, other] of [[a, b], [b, a]]) one.on('error', () => other.destroy()).once('close', () => other.destroy())
}
const through = client => join(client, net.connect(socket))
const to = port => client => {
  client.on('error', () => client.destroy())
  const out = net.connect(socket, () => out.write('CONNECT 127.0.0.1:' + port + ' HTTP/1.1\\r\\nHost: 127.0.0.1:' + port + '\\r\\n\\r\\n'))
  out.on('error', () => client.destroy())
  let said = Buffer.alloc(0)
  const hear = chunk => {
    said = Buffer.concat([said, chunk])
    const end = said.indexOf('\\r\\n\\r\\n')
    if (end < 0) return
    out.off('data', hear)
    if (!said.subarray(0, 12).toString().endsWith(' 200')) return client.destroy()
    client.write(said.subarray(end + 4))
    join(client, out)
  }
  out.on('data', hear)
}
const listen = (port, heard) => new Promise((done, fail) => net.createServer({ allowHalfOpen: true }, heard).once('error', fail).listen(port, '127.0.0.1', done))
Promise.all([listen(proxyPort, through), ...ports.map(port => listen(port, to(port)))]).then(() => {
  const agent = spawn(command, args, { stdio: 'inherit' })
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2']) process.on(name, () => agent.kill(name))
  agent.once('error', error => { console.error(String(error)); process.exit(127) })
  agent.once('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))
}, error => { console.error(String(error)); process.exit(126) })
`
