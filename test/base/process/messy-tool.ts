import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The processes that a careless tool leaves behind, each a `sleep` of a unique length, so that survivors are found by their
 * command line, independently of the code under test.
 */
export interface MessyTool {
  script: string
  /** The pids of the living sleeps. */
  survivors(): number[]
  /** Resolves when none is alive; throws at the deadline. It polls, because they are not our children. */
  untilNone(): Promise<void>
}

/** A shell script that starts its five children, prints `ready`, and continues with `then`. Survivors are ended with the test. */
export function messyTool(t: TestContext, then: string): MessyTool {
  const length = `600.${randomInt(1e9, 1e10)}`
  const survivors = () =>
    readdirSync('/proc')
      .map(Number)
      .filter(pid => Number.isInteger(pid) && sleeps(pid, length))
  t.after(() => {
    for (const pid of survivors()) process.kill(pid, 'SIGKILL')
  })
  return {
    script: [
      `length=${length}`,
      'sleep $length &',
      'setsid sleep $length &',
      'env -i setsid sleep $length &',
      '(setsid sleep $length &)',
      '(env -i setsid sleep $length &)',
      'echo ready',
      then,
    ].join('\n'),
    survivors,
    untilNone: async () => {
      for (const deadline = Date.now() + 30_000; survivors().length > 0; await sleep(20)) {
        if (Date.now() > deadline) throw new Error(`still alive: ${survivors().join(' ')}`)
      }
    },
  }
}

/** The children start at different moments; the script may print its last line before the last of them runs. */
export async function allStarted(tool: MessyTool, count = 5): Promise<void> {
  for (const deadline = Date.now() + 30_000; tool.survivors().length < count; await sleep(10)) {
    if (Date.now() > deadline) throw new Error(`only ${tool.survivors().length} of ${count} came up`)
  }
}

function sleeps(pid: number, length: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${length}\0`
  } catch {
    return false
  }
}
