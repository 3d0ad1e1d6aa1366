import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DaemonConnection } from '../../../../src/cli/connection/connection.ts'
import { followRun } from '../../../../src/cli/live/follow.ts'
import type { EventKind, StoredEvent } from '../../../../src/domain/event.ts'
import { someRun } from './some-run.ts'

/** A daemon that tells these events, one after the other, and is asked for the run in between. */
function daemon(kinds: EventKind[]) {
  const told = { looks: 0 }
  const client = {
    request: async () => {
      told.looks += 1
      return someRun({})
    },
    async *stream(_path: string, { signal }: { signal: AbortSignal }) {
      for (const kind of kinds) {
        await sleep(200) // longer than looks are apart
        yield { kind } as StoredEvent
      }
      await sleep(200)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
    },
  } as unknown as DaemonConnection
  return { client, told }
}

async function looks(kinds: EventKind[], detailed: boolean): Promise<number> {
  const { client, told } = daemon(kinds)
  const signal = AbortSignal.timeout(kinds.length * 200 + 700)
  await followRun({ client, run: 'r-1', signal, detailed, show: () => undefined, onLost: () => undefined })
  return told.looks
}

test('lines for a pipe look at the run when something becomes of a task, a board with every step of an agent', async () => {
  const kinds: EventKind[] = ['agent.said', 'tool.requested', 'permission.decided', 'task.finished']
  const [lines, board] = await Promise.all([looks(kinds, false), looks(kinds, true)])
  assert.deepEqual([lines, board], [2, 5])
})
