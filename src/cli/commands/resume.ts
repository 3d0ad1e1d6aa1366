import type { Command } from 'commander'
import { wakeTime } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { ResumeSession, SessionView } from '../../domain/api.ts'
import type { BudgetLimits } from '../../domain/budget.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { RunDetail } from '../../domain/run.ts'
import { type Client, openClient } from '../connection/client.ts'
import { findRun, sessionPath } from '../connection/connection.ts'
import { type CommandContext, commandContext, ExitCode, isInteractive } from '../context.ts'
import { lastEvent } from '../live/follow.ts'
import { runLiveView } from '../live/watch.ts'
import { budgetOption, refuseInSession } from '../options.ts'
import { nameOf, queuedText } from '../render/format.ts'
import { resumeHeader } from '../render/session-page.ts'
import { resumeEnvironment } from '../session-env.ts'
import { resumeRun, type WatchRunDeps, watchRun } from './run/control.ts'

/** `pcc resume`: continues a session where it stopped, or from a checkpoint. */
export function addResumeCommand(program: Command): void {
  program
    .command('resume')
    .description('Go on with a session that is paused, limited, stopped or failed, in its own conversation')
    .argument('<session>', 'id, unique beginning of an id, or name; also of a run or a task')
    .option('--from <checkpoint>', 'go on from this checkpoint, in a new conversation (see: pcc checkpoints <session>)')
    .option('--budget <amounts>', 'the most it may spend in all from now on, as in "10 usd"', budgetOption)
    .option('--model <name>', 'the model from now on')
    .option('--detach', 'go on in the background')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (ref: string, options: ResumeOptions, command: Command) => {
      throw new ExitCode(await runResume({ ref, verb: 'resume', options, context: await commandContext(command) }))
    })
}

/** `pcc retry`: tries a failed session once more. */
export function addRetryCommand(program: Command): void {
  program
    .command('retry')
    .description('Try a failed session again, in its own conversation')
    .argument('<session>', 'id, unique beginning of an id, or name')
    .option('--detach', 'try it in the background')
    .option('--json', 'print events as JSON lines (with --detach: the session as JSON)')
    .action(async (ref: string, options: ResumeOptions, command: Command) => {
      throw new ExitCode(await runResume({ ref, verb: 'retry', options, context: await commandContext(command) }))
    })
}

interface ResumeOptions {
  from?: string
  budget?: BudgetLimits
  model?: string
  detach?: boolean
}

interface ResumeCall {
  /** The session as it was typed. */
  ref: string
  verb: 'resume' | 'retry'
  options: ResumeOptions
  context: CommandContext
}

/** Resumes a session with the environment of this shell, and shows it live or leaves it in the background. Returns the exit code. */
async function runResume({ ref, verb, options, context }: ResumeCall): Promise<number> {
  const { paths, json, quiet, terminal, out } = context
  refuseInSession(context.env, `${verb} ${ref}`)
  const client = await openClient(paths, context)
  const run = verb === 'resume' ? await findRun(ref, client) : undefined
  if (run) return resumeNamedRun(run, options, { client, context })
  const { id, project } = await client.request<SessionView>('GET', await sessionPath(ref))
  const env = await resumeEnvironment({ paths, env: context.env, project })
  const after = await lastEvent(client, id)
  const body: ResumeSession = {
    env,
    ...(options.from !== undefined && { from: options.from }),
    ...(options.budget && { budget: options.budget }),
    ...(options.model !== undefined && { model: options.model }),
    ...(!options.detach && isInteractive(context) && { attach: true }),
  }
  const session = await client.request<SessionView>('POST', `/sessions/${id}/${verb}`, body)
  if (options.detach) return printDetached(await waitForStart(client, session, after), context)
  if (!json && !quiet) for (const line of resumeHeader(session, terminal)) out(line)
  return runLiveView({ client, session, context, after, env })
}

async function resumeNamedRun(
  run: RunDetail,
  options: ResumeOptions,
  { client, context }: WatchRunDeps,
): Promise<number> {
  const env = await resumeEnvironment({ paths: context.paths, env: context.env, project: run.project })
  const resumed = await resumeRun(run, { ...options, env }, client)
  if (!context.json) for (const line of notResumedLines(resumed)) context.note(line)
  if (!options.detach) return watchRun(resumed, { client, context })
  const lines = [`Run goes on: ${run.id}`, `Attach with: pcc attach ${run.id}`]
  for (const line of context.json ? [JSON.stringify(resumed, null, 2)] : lines) context.out(line)
  return 0
}

/** What of a run that goes on stands still, and what to do about it. */
function notResumedLines({ not_resumed = [] }: RunDetail): string[] {
  return not_resumed.flatMap(({ session, why, next }) => [
    neutral(`${session} does not go on: ${why}`),
    ...(next === undefined ? [] : [neutral(`  ${next}`)]),
  ])
}

/** Longer than the check of the account's gate takes; a session that only starts slowly does not wait for its account. */
const START_MS = 3_000

/** Returns the session once it is known whether it starts or has to wait for its account. */
async function waitForStart(client: Client, session: SessionView, after: number): Promise<SessionView> {
  if (session.queued) return session
  const signal = AbortSignal.timeout(START_MS)
  for await (const { kind } of client.stream(`/events?session=${session.id}`, { after, signal })) {
    if (START_EVENTS.has(kind)) break
  }
  return client.request<SessionView>('GET', `/sessions/${session.id}`)
}

const START_EVENTS = new Set<StoredEvent['kind']>(['task.started', 'agent.started', 'session.ended'])

function printDetached(session: SessionView, { json, out }: CommandContext): number {
  if (json) out(JSON.stringify(session, null, 2))
  else for (const line of detachedLines(session)) out(line)
  return 0
}

function detachedLines(session: SessionView): string[] {
  const watch = `Attach with: pcc attach ${session.id}`
  if (session.queued) return [`Session ${queuedText(session)}: ${nameOf(session)}`, watch]
  if (session.status !== 'rate_limited') return [`Session goes on: ${nameOf(session)}`, watch]
  const { resumes_at } = session
  if (resumes_at === null) return [`Session waits, its account is limited: ${nameOf(session)}`, session.reason ?? '']
  const at = wakeTime(resumes_at, Date.now())
  return [`Session waits for the limit to reset, and goes on by itself at ${at}: ${nameOf(session)}`, watch]
}
