import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What a careless tool leaves behind, each a `sleep` for a length that is the test's own: so survivors are found by their
 * command line, without trusting what is tested.
 */
export interface MessyTool {
  script: string
  /** Numbers of the sleeps that are alive. */
  survivors(): number[]
  /** Resolves when none is alive; throws at the deadline. Nobody tells us of the death of a process that is not our child. */
  untilNone(): Promise<void>
}

/** A shell script that starts its five children, says `ready`, and goes on with `then`. What survives ends with the test. */
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

/** They start at different moments; the last word of the script may come before the last of them. */
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
