import { replyTo } from '../brain/prose.ts'
import { stopBeforeNext } from '../guards/spending.ts'
import type { Desk } from '../run.ts'
import { givenUp } from '../sigils/given-up.ts'
import { claimedFailure } from '../tools/claim.ts'
import type { Context } from './decide.ts'
import type { Analysis } from './think.ts'

/** After so much work a failure is a new one: a long night may meet more of them than are tried in a row. */
const FORGIVEN_MS = 10 * 60_000

/** What is known of the session beside the event. The queue and the quota are looked at where a task ended. */
export async function contextOf(analysis: Analysis, { run, parts }: Desk): Promise<Context> {
  const { stopping, pausing, compaction, retryMs, row } = run
  const known = {
    stopping,
    pausing,
    compaction,
    retries: parts.clock.now() - run.begunAt < FORGIVEN_MS ? row.retries : 0,
    retryMs,
    reply: undefined,
    hasNext: false,
    critical: false,
  }
  if (analysis.type !== 'task_complete' || compaction === 'running') return known
  const queue = await parts.tasks.queue(run.id)
  const said = givenUp({ text: analysis.text, task: row.task_id, queue, log: run.log })
  const gaveUp = said ?? (await claimedFailure({ run, parts }))
  if (gaveUp !== undefined) return { ...known, gaveUp }
  if (analysis.question) {
    const { text, suggestion } = await replyTo(analysis.question, { run, parts })
    return { ...known, reply: text, suggestion }
  }
  const hasNext = queue.some(task => task.id !== row.task_id && canRun(task, row.task_id))
  if (!hasNext) return known
  const admission = await parts.accounts.admits(run)
  await stopBeforeNext({ run, parts })
  const { level } = await parts.accounts.level(run)
  return {
    ...known,
    hasNext,
    critical: level === 'critical',
    pausing: run.pausing ?? (admission.open ? undefined : 'gate'),
  }
}

/** Ready, or blocked by nothing but the task that has just been completed. */
function canRun({ state, after }: { state: string; after: string[] }, done: string | null): boolean {
  return state === 'ready' || (state === 'blocked' && done !== null && after.includes(done))
}
