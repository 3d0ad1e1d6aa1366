import type { ResumeSession, SessionView } from '../../../domain/api.ts'
import type { BudgetLimits } from '../../../domain/budget/budget.ts'
import type { StoredEvent } from '../../../domain/event.ts'
import type { RunDetail } from '../../../domain/runs/run-view.ts'
import { type Client, openClient } from '../../client.ts'
import { sessionPath } from '../../connection/session-path.ts'
import type { Context } from '../../context.ts'
import { isInteractive } from '../../live/interactive.ts'
import { runView } from '../../live/run-view.ts'
import { nameOf, wakeTime } from '../../render/format.ts'
import { resumeHeader } from '../../render/header.ts'
import { runNamed } from '../../run/named-run.ts'
import { resumeRun } from '../../run/steer-run.ts'
import { type Watching, watchRun } from '../../run/watch-run.ts'
import { environmentToGoOn } from '../../session-env.ts'
import { refuseInSession } from '../decide/own-terminal.ts'
import { lastEvent } from './last-event.ts'

export interface TakeUpOptions {
  from?: string
  budget?: BudgetLimits
  detach?: boolean
}

export interface TakeUp {
  /** As it was typed. */
  ref: string
  by: 'resume' | 'retry'
  options: TakeUpOptions
  context: Context
}

/** Makes a session go on, in the environment of this shell, and shows it live or leaves it in the background. Returns the exit code. */
export async function takeUp({ ref, by, options, context }: TakeUp): Promise<number> {
  const { places, json, quiet, terminal, out } = context
  refuseInSession(context.env, `${by} ${ref}`)
  const client = await openClient(places, context)
  const run = by === 'resume' ? await runNamed(ref, client) : undefined
  if (run) return goOnWithRun(run, options, { client, context })
  const { id, project } = await client.request<SessionView>('GET', await sessionPath(ref))
  const env = await environmentToGoOn({ places, env: context.env, project })
  const after = await lastEvent(client, id)
  const body: ResumeSession = {
    env,
    ...(options.from !== undefined && { from: options.from }),
    ...(options.budget && { budget: options.budget }),
    ...(!options.detach && isInteractive(context) && { attach: true }),
  }
  const session = await client.request<SessionView>('POST', `/sessions/${id}/${by}`, body)
  if (options.detach) return detached(await begun(client, session, after), context)
  if (!json && !quiet) for (const line of resumeHeader(session, terminal)) out(line)
  return runView({ client, session, context, after, env })
}

async function goOnWithRun(run: RunDetail, options: TakeUpOptions, { client, context }: Watching): Promise<number> {
  const goesOn = await resumeRun(run, options, client)
  if (!options.detach) return watchRun(goesOn, { client, context })
  const words = [`Run goes on: ${run.id}`, `Attach with: pcc attach ${run.id}`]
  for (const line of context.json ? [JSON.stringify(goesOn, null, 2)] : words) context.out(line)
  return 0
}

/** Longer than it takes to look at the gate; a session that starts slowly is none that waits. */
const BEGIN_MS = 3_000

/** The session as it is once it is known whether it begins or has to wait for its account. */
async function begun(client: Client, session: SessionView, after: number): Promise<SessionView> {
  if (session.queued) return session
  const signal = AbortSignal.timeout(BEGIN_MS)
  for await (const { kind } of client.stream(`/events?session=${session.id}`, { after, signal })) {
    if (BEGINNINGS.has(kind)) break
  }
  return client.request<SessionView>('GET', `/sessions/${session.id}`)
}

const BEGINNINGS = new Set<StoredEvent['kind']>(['task.started', 'agent.started', 'session.ended'])

function detached(session: SessionView, { json, out }: Context): number {
  if (json) out(JSON.stringify(session, null, 2))
  else for (const line of detachedLines(session)) out(line)
  return 0
}

function detachedLines(session: SessionView): string[] {
  const watch = `Attach with: pcc attach ${session.id}`
  if (session.queued) return [`Session queued, it waits for a free place: ${nameOf(session)}`, watch]
  if (session.status !== 'rate_limited') return [`Session goes on: ${nameOf(session)}`, watch]
  const { resumes_at } = session
  if (resumes_at === null) return [`Session waits, its account is limited: ${nameOf(session)}`, session.reason ?? '']
  const at = wakeTime(resumes_at, Date.now())
  return [`Session waits for the limit to reset, and goes on by itself at ${at}: ${nameOf(session)}`, watch]
}
