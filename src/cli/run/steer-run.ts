import { AppError } from '../../base/errors.ts'
import type { RunDetail } from '../../domain/runs/run-view.ts'
import type { Connection } from '../connection/connection.ts'
import type { Context } from '../context.ts'
import { firstLine } from '../render/text.ts'
import { targetText } from './words.ts'

interface Steering {
  client: Connection
  context: Pick<Context, 'json' | 'out'>
}

/** `pcc stop r-…`: after what is at work, or now. */
export async function stopRun(run: RunDetail, now: boolean, { client, context }: Steering): Promise<void> {
  const after = await client.request<RunDetail>('POST', `/runs/${run.id}/stop`, { now })
  const [current] = openOf(after)
  show(after, context, [
    current && !now
      ? `Run ${run.id} ends after ${current.task_id} ${firstLine(current.title)}: no other task begins`
      : `Run stopped: ${run.id} (${targetText(run)})`,
    ...(current && !now ? [`Stop that too with: pcc stop ${run.id} --now`] : []),
  ])
}

/** `pcc pause r-…`: no new task begins, and what is at work stops after the tool in flight. */
export async function pauseRun(run: RunDetail, { client, context }: Steering): Promise<void> {
  const after = await client.request<RunDetail>('POST', `/runs/${run.id}/pause`, {})
  show(after, context, [`Run paused: ${run.id} (${targetText(run)})`, `Go on with: pcc resume ${run.id}`])
}

/** `pcc resume r-…`: it goes on where it was. */
export async function resumeRun(
  run: RunDetail,
  options: { from?: unknown; budget?: unknown },
  client: Connection,
): Promise<RunDetail> {
  const [odd] = Object.entries({ from: options.from, budget: options.budget }).filter(([, value]) => value)
  if (odd)
    throw new AppError('usage', { problem: `--${odd[0]} is for sessions, and ${run.id} is a run`, command: 'resume' })
  return client.request<RunDetail>('POST', `/runs/${run.id}/resume`, {})
}

function openOf({ attempts }: RunDetail) {
  return attempts.filter(({ outcome }) => outcome === null)
}

function show(run: RunDetail, { json, out }: Steering['context'], lines: string[]): void {
  for (const line of json ? [JSON.stringify(run, null, 2)] : lines) out(line)
}
