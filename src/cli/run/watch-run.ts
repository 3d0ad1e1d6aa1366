import { RUN_EXITS } from '../../domain/runs/run-outcome.ts'
import type { AttemptView, RunDetail } from '../../domain/runs/run-view.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { isInteractive } from '../live/interactive.ts'
import { followRun } from './feed.ts'
import { newsOf, summaryLines } from './plain-lines.ts'

export interface Watching {
  client: Connection
  context: Context
}

/** Left before its end: a script must not go on as if it were done. */
const LEFT = 130

/** Shows a run until it has ended or the person leaves; the exit code is that of its outcome. */
export async function watchRun(run: RunDetail, { client, context }: Watching): Promise<number> {
  const { json, out, terminal } = context
  const over = run.state === 'ended' ? run : await follow(run, { client, context })
  if (!over) {
    if (!json) out(`Detached; run ${run.id} goes on. Watch it with: pcc attach ${run.id}`)
    return LEFT
  }
  const { attempts: _, ...rest } = over
  const lines = json ? [JSON.stringify({ type: 'run', ...rest })] : summaryLines(over, terminal, Date.now())
  for (const line of lines) out(line)
  return over.outcome === null ? 0 : RUN_EXITS[over.outcome]
}

/** What happened in a run, and with `follow` what happens. */
export async function logRun(run: RunDetail, watching: Watching & { follow: boolean }): Promise<void> {
  const { json, out, terminal } = watching.context
  if (watching.follow && run.state !== 'ended') {
    await watchRun(run, { client: watching.client, context: { ...watching.context, quiet: false } })
    return
  }
  const lines = json ? jsonNews(new Map(), run) : newsOf(undefined, run, terminal)
  for (const line of [...lines, ...(json ? [] : summaryLines(run, terminal, Date.now()))]) out(line)
}

async function follow(run: RunDetail, { client, context }: Watching): Promise<RunDetail | undefined> {
  if (isInteractive(context) && !context.quiet) {
    return (await import('./board/show.ts')).showBoard(run, { client, context })
  }
  const { json, out, note, quiet, terminal } = context
  const told: Told = new Map()
  let before: RunDetail | undefined
  const show = (now: RunDetail) => {
    const lines = json ? jsonNews(told, now) : quiet ? [] : newsOf(before, now, terminal)
    for (const line of lines) out(line)
    before = now
  }
  const lost = () => note('The daemon does not answer; trying again')
  return untilLeft(signal => followRun({ client, run: run.id, signal, closely: false, show, lost }))
}

type Told = Map<number, AttemptView['outcome']>

/** A line when an attempt begins, one when it ends. */
function jsonNews(told: Told, { id, attempts }: RunDetail): string[] {
  return attempts.flatMap(attempt => {
    const { iteration, outcome } = attempt
    if (told.has(iteration) && told.get(iteration) === outcome) return []
    told.set(iteration, outcome)
    return [JSON.stringify({ type: 'attempt', run: id, ...attempt })]
  })
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
