import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const SIGNALS = fileURLToPath(new URL('../../src/daemon/shutdown.ts', import.meta.url))

/** A process that catches signals and lives until it is asked to stop; it prints the reason that it got. */
async function life(deed: string): Promise<{ reason: string; failed: boolean; logged: string[] }> {
  const program = `
    const { catchSignals } = await import(${JSON.stringify(SIGNALS)})
    const logged = []
    const alive = setInterval(() => {}, 1000)
    using signals = catchSignals({
      log: { error: ({ error }, phrase) => logged.push(phrase + ': ' + error.message) },
      stop: reason => {
        clearInterval(alive)
        setImmediate(() => console.log(JSON.stringify({ reason, failed: signals.failed, logged })))
      },
    })
    ${deed}
    await new Promise(resolve => setTimeout(resolve, 50))`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program])
  return JSON.parse(stdout)
}

test('a signal stops the daemon without a failure', async () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    const { reason, failed } = await life(`process.kill(process.pid, '${signal}')`)
    assert.deepEqual([reason, failed], [`it got ${signal}`, false])
  }
})

test('an error nobody caught is logged and stops the daemon as a failure', async () => {
  const thrown = await life(`setImmediate(() => { throw new Error('boom') })`)
  const rejected = await life(`Promise.reject(new Error('boom'))`)
  for (const { failed, logged } of [thrown, rejected]) {
    assert.equal(failed, true)
    assert.deepEqual(logged, ['uncaught failure: boom'])
  }
})
