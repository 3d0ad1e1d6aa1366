import { replyTo } from '../brain/prose.ts'
import { stopBeforeNext } from '../guards/spending.ts'
import { lands } from '../landing/work.ts'
import type { Desk } from '../run.ts'
import { scopeOf } from '../runs/scope.ts'
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
  const open = await othersOpen(queue, { run, parts })
  const said = givenUp({ text: analysis.text, task: row.task_id, open, log: run.log })
  const gaveUp = said ?? (await claimedFailure({ run, parts }))
  if (gaveUp !== undefined) return { ...known, gaveUp }
  if (analysis.question) {
    const { text, suggestion } = await replyTo(analysis.question, { run, parts })
    return { ...known, reply: text, suggestion }
  }
  // What is to land is looked at before anything else begins in the same place.
  if (lands(row)) return known
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

/** Tasks that are not done beside the one at hand: of its own queue, or of all that its run works through. */
async function othersOpen(queue: readonly { id: string }[], { run: { row }, parts }: Desk): Promise<number> {
  const place = row.options.run
  const of = place && (await parts.store.runs.get(place.id))
  if (!of) return queue.filter(({ id }) => id !== row.task_id).length
  const { done = 0, cancelled = 0, ...open } = await parts.tasks.counts(scopeOf(of))
  return Object.values(open).reduce((sum, count) => sum + count, 0) - 1
}

/** Ready, or blocked by nothing but the task that has just been completed. */
function canRun({ state, after }: { state: string; after: string[] }, done: string | null): boolean {
  return state === 'ready' || (state === 'blocked' && done !== null && after.includes(done))
}
