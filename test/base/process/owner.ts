import { openForkServer } from '../../../src/base/process/fork-server.ts'

// Runs a program in its small process, prints the pid of that process, and waits to be killed.
const forks = openForkServer()
await forks.run({
  command: 'true',
  args: [],
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  timeoutMs: 20_000,
  maxBytes: 100,
})
process.stdout.write(`${forks.pid}\n`)
setInterval(() => undefined, 60_000)
