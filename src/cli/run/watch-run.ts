import { RUN_EXITS } from '../../domain/runs/run-outcome.ts'
import type { AttemptView, RunDetail } from '../../domain/runs/run-view.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { followRun } from './feed.ts'
import { newsOf, summaryLines } from './plain-lines.ts'

export interface Watching {
  client: Connection
  context: Context
}

/** Left before its end: a script must not go on as if it were done. */
export const LEFT = 130

/** Shows a run until it has ended or the person leaves; the exit code is that of its outcome. */
export async function watchRun(run: RunDetail, { client, context }: Watching): Promise<number> {
  const { json, out } = context
  return json ? watchAsJson(run, { client, context }) : watchAsLines(run, { client, context, out })
}

/** One line for each thing that happens. */
async function watchAsLines(
  run: RunDetail,
  { client, context, out }: Watching & Pick<Context, 'out'>,
): Promise<number> {
  const { terminal, note, quiet } = context
  let before: RunDetail | undefined
  const ended = await untilLeft(signal =>
    followRun({
      client,
      run: run.id,
      signal,
      lost: () => note('The daemon does not answer; trying again'),
      show(now) {
        if (!quiet) for (const line of newsOf(before, now, terminal)) out(line)
        before = now
      },
    }),
  )
  if (!ended) {
    out(`Detached; run ${run.id} goes on. Watch it with: pcc attach ${run.id}`)
    return LEFT
  }
  for (const line of summaryLines(ended, terminal, Date.now())) out(line)
  return exitOf(ended)
}

/** A line when an attempt begins, one when it ends, and the run at its end. */
async function watchAsJson(run: RunDetail, { client, context }: Watching): Promise<number> {
  const told = new Map<number, AttemptView['outcome']>()
  const ended = await untilLeft(signal =>
    followRun({
      client,
      run: run.id,
      signal,
      lost: () => {},
      show(now) {
        for (const attempt of now.attempts) {
          if (told.has(attempt.iteration) && told.get(attempt.iteration) === attempt.outcome) continue
          told.set(attempt.iteration, attempt.outcome)
          context.out(JSON.stringify({ type: 'attempt', run: now.id, ...attempt }))
        }
      },
    }),
  )
  if (!ended) return LEFT
  const { attempts: _, ...rest } = ended
  context.out(JSON.stringify({ type: 'run', ...rest }))
  return exitOf(ended)
}

/** What the command leaves with. */
export function exitOf({ outcome }: Pick<RunDetail, 'outcome'>): number {
  return outcome === null ? 0 : RUN_EXITS[outcome]
}

async function untilLeft<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const leave = new AbortController()
  const onSignal = () => leave.abort()
  process.once('SIGINT', onSignal)
  try {
    return await work(leave.signal)
  } finally {
    process.off('SIGINT', onSignal)
  }
}
