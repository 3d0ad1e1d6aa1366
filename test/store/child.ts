import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { bareEnv, COMPILED } from '../support/world.ts'

export interface Child {
  process: ChildProcess
  lines: AsyncIterableIterator<string>
  /** Resolves to `0`, or to the signal or exit code with the error output. */
  ended: Promise<string>
}

/** Starts a script with Node; it is ended with the test. */
export function startChild(t: TestContext, script: URL, ...args: string[]): Child {
  const child = spawn(process.execPath, [script.pathname, ...args], {
    env: { ...bareEnv('/nonexistent'), ...COMPILED },
  })
  let complaints = ''
  child.stderr.on('data', (bytes: Buffer) => {
    complaints += bytes
  })
  const exit = once(child, 'exit')
  const closed = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return {
    process: child,
    lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    ended: closed.then(([code, signal]) => `${signal ?? code}${complaints && `: ${complaints}`}`),
  }
}
