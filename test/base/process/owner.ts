import { openForkServer } from '../../../src/base/process/run-short.ts'

// Lets its small process run something that ends at once, says which process it is, and waits to be killed.
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
