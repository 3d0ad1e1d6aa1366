import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DaemonConnection } from '../../../../src/cli/connection/connection.ts'
import { followRun } from '../../../../src/cli/live/follow.ts'
import type { EventKind, StoredEvent } from '../../../../src/domain/event.ts'
import { someRun } from './some-run.ts'

/** A daemon that streams these events one after the other and counts how often the run is polled. */
function daemon(kinds: EventKind[]) {
  const counts = { polls: 0 }
  const client = {
    request: async () => {
      counts.polls += 1
      return someRun({})
    },
    async *stream(_path: string, { signal }: { signal: AbortSignal }) {
      for (const kind of kinds) {
        await sleep(200) // longer than the least time between two polls
        yield { kind } as StoredEvent
      }
      await sleep(200)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
    },
  } as unknown as DaemonConnection
  return { client, counts }
}

async function countPolls(kinds: EventKind[], detailed: boolean): Promise<number> {
  const { client, counts } = daemon(kinds)
  const signal = AbortSignal.timeout(kinds.length * 200 + 700)
  await followRun({ client, run: 'r-1', signal, detailed, show: () => undefined, onLost: () => undefined })
  return counts.polls
}

test('the plain view polls the run when a task changes, and the board with every step of an agent', async () => {
  const kinds: EventKind[] = ['agent.said', 'tool.requested', 'permission.decided', 'task.finished']
  const [lines, board] = await Promise.all([countPolls(kinds, false), countPolls(kinds, true)])
  assert.deepEqual([lines, board], [2, 5])
})
