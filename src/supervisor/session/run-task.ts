import { crashPoint } from '../../base/crash-point.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { startTimeOf } from '../../base/process/process-table.ts'
import type { CompletionProgress } from '../../domain/evidence.ts'
import type { Failure, Session, SessionEvent } from '../../domain/session.ts'
import { applyGuards } from '../guards/watch.ts'
import { asksFor } from './asks.ts'
import { beginTask } from './between-turns.ts'
import { saveCheckpointWhenDue } from './checkpoints.ts'
import type { LiveSession, LiveSessionEnding, SessionContext, SessionDeps, SessionUpdate } from './context.ts'
import { type Analysis, decide, think, thinkOfFailure } from './decide.ts'
import { stepForEvent } from './events.ts'
import { execute, readContext } from './execute.ts'
import { record } from './record.ts'
import { settle } from './settle.ts'

/**
 * The loop of a session: opens the agent and follows it through its tasks, event by event. Each event is stored (learn) and
 * interpreted (think); an action is picked (decide) and carried out (execute), until an action ends the session. Never
 * throws. The agent's process is gone when this returns, even where the ending was stored before that.
 */
export async function runTask(live: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding> {
  try {
    await live.settings.renew?.()
    const refusal = await beginTask(live, deps)
    if (refusal) return refusal
    await deps.starts.free()
    // Work that is sent back goes on in a new process: the one that waits there for the next task must be gone, or there are two.
    if (live.settings.open.resume) await deps.endKept(live.settings.open.cwd)
    crashPoint('open.before-agent')
    await using session = await live.settings.driver.open({
      ...live.settings.open,
      asks: asksFor(live, deps),
      mayBegin: () => mayBegin(live),
    })
    live.agent.session = session
    live.control.opened.resolve()
    crashPoint('open.after-agent')
    live.log.info({ resumed: live.settings.open.resume !== undefined }, 'agent opened')
    using _watched = deps.watch.watch({ live, deps })
    const ending = await followAgent(session, { live, deps })
    live.agent.isKept = await deps.keepProcess(live, session, ending)
    if (maySettleEarly(session, live, ending)) await settleEarly(live, deps, ending)
    return ending
  } catch (error) {
    live.log.error({ error }, 'session failed')
    return endingAfter(failureOf(error), { live, deps }, isOfStore(error, live))
  } finally {
    live.control.over = true
    live.agent.hasSurvivors = live.agent.session?.hasSurvivors ?? false
    live.agent.session = undefined
    live.control.opened.resolve()
  }
}

/** An agent that is being opened cannot be interrupted, so the driver asks this before it sends the first prompt. */
function mayBegin({ control: { stopping, pausing } }: LiveSession): boolean {
  return stopping === undefined && pausing === undefined
}

async function followAgent(session: Session, context: SessionContext): Promise<LiveSessionEnding> {
  const { live } = context
  // Somebody asked the session to stop or to pause while the agent was starting and could not be interrupted.
  if (!mayBegin(live)) await session[Symbol.asyncDispose]()
  for await (const event of session.events) {
    live.agent.isHandlingEvent = true
    const ending = await handleEvent(event, session, context)
    live.agent.isHandlingEvent = false
    if (ending) return ending
  }
  return endingAfter({ kind: 'agent_crashed', message: 'the agent ended without a word' }, context)
}

async function handleEvent(
  event: SessionEvent,
  session: Session,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  await learn(event, session, context)
  const ending = await react(think(event), session, context)
  // From here on nothing can be added to the conversation.
  if (ending) context.live.control.over = true
  return ending
}

async function react(
  analysis: Analysis,
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  if (analysis.type === 'task_complete') await context.deps.accounts.answered(context.live)
  return execute(decide(analysis, await readContext(analysis, context)), session, context)
}

/** Whether the store could not write. That is temporary, and not a failure of the session. */
function isOfStore(error: unknown, { control }: LiveSession): boolean {
  return control.tripped?.guard === 'disk' || (error instanceof AppError && error.code === 'store_unusable')
}

/** The ending for a failure outside of any turn: the agent could not be opened, or the store failed. */
async function endingAfter(failure: Failure, context: SessionContext, mayPass = false): Promise<LiveSessionEnding> {
  const analysis: Analysis = mayPass ? { type: 'error', failure, mayPass } : thinkOfFailure(failure)
  const ending = await react(analysis, undefined, context)
  return ending ?? { as: 'error', reason: failure.message, failure: failure.kind }
}

/**
 * Whether the session may be settled while its agent is still exiting, which takes 40 ms: its work is complete, nothing
 * else runs, and nobody asked for a recording, whose last line is written when the agent is gone.
 */
function maySettleEarly(session: Session, live: LiveSession, ending: LiveSessionEnding): boolean {
  const mayGoOnAlone = live.settings.open.record === undefined && session.alone === true
  return ending.as === 'completed' && mayGoOnAlone && !live.agent.isKept
}

/** What cannot be stored now is stored when the agent is gone; the ending stays what it is. */
async function settleEarly(live: LiveSession, deps: SessionDeps, ending: LiveSessionEnding): Promise<void> {
  await settle(live, deps, ending).catch(error => live.log.error({ error }, 'session could not be settled yet'))
}

function failureOf(error: unknown): Failure {
  if (error instanceof AppError && error.code === 'agent_missing')
    return { kind: 'agent_missing', message: error.message }
  if (error instanceof AppError && error.code === 'agent_not_logged_in') return { kind: 'auth', message: error.message }
  return { kind: 'other', message: messageOf(error) }
}

/** Stores an event, and updates the state that the next decisions need. */
async function learn(event: SessionEvent, session: Session, { live, deps }: SessionContext): Promise<void> {
  live.log.debug({ kind: event.kind }, 'agent event')
  if (WENT_ON.has(event.kind)) live.agent.answeredQuestion = undefined
  if (event.kind === 'retry') live.agent.isRetrying = true
  else if (event.kind !== 'limit') live.agent.isRetrying = false
  if (event.kind === 'started') crashPoint('started.before-record')
  countUsage(event, live)
  await record(live, deps, stepForEvent(event, live))
  if (event.kind === 'usage' && event.outputTokens > 0) live.meters.afterLimit = false
  if (WENT_ON.has(event.kind)) await recordProgress(live, deps)
  if (event.kind === 'started') {
    await record(live, deps, await readProcess(session))
    crashPoint('started.after-record')
  }
  if (event.kind === 'limit') await deps.accounts.recordLimit(event, live)
  if (event.kind === 'turn_ended') {
    carryTurns(live)
    crashPoint('turn.before-decision')
  } else await saveCheckpointWhenDue(live, deps)
  await applyGuards(event, { live, deps })
}

/** Cache reads are left out, as in `pcc quota`: every answer reads the whole conversation again. */
function countUsage(event: SessionEvent, { meters: { meter, earlierUsage } }: LiveSession): void {
  if (event.kind === 'turn_ended') meter.saw({ turns: earlierUsage.turns + event.turns })
  if (event.kind !== 'usage') return
  const { inputTokens, outputTokens, cacheWriteTokens, costUsd, turns } = event
  const rounds = turns === undefined ? {} : { turns: earlierUsage.turns + turns }
  meter.saw({ tokens: inputTokens + outputTokens + cacheWriteTokens, cost_usd: costUsd, ...rounds })
}

/** Events that show that the model has seen the answer to a parked question: a later failure belongs to the work. */
const WENT_ON = new Set<SessionEvent['kind']>(['text', 'thinking', 'tool_request', 'plan'])

/** The model goes on: it has received the answer to its parked question, and the session did not crash this daemon. */
async function recordProgress(live: LiveSession, deps: SessionDeps): Promise<void> {
  const { options, recoveries, parked } = live.row
  const isDelivered = parked?.taken && !live.agent.answer
  const patch = {
    ...(recoveries > 0 && { recoveries: 0 }),
    ...(isDelivered && { parked: null }),
    ...(options.landing?.told !== undefined && { options: { ...options, landing: withoutReport(options.landing) } }),
  }
  if (Object.keys(patch).length > 0) await record(live, deps, { events: [], patch })
}

/** The agent has read why its work came back, so the report is dropped. */
function withoutReport({ told: _, ...note }: CompletionProgress): CompletionProgress {
  return note
}

/** The agent counts rounds from the start of each turn, but tokens and cost from the moment it was opened. */
function carryTurns(live: LiveSession): void {
  live.meters.earlierUsage = { ...live.meters.earlierUsage, turns: live.row.turns }
}

/** The agent's process; its start time tells it apart from a later process with the same pid. */
async function readProcess({ pid }: Session): Promise<SessionUpdate> {
  if (pid === undefined) return { events: [], patch: {} }
  return { events: [], patch: { agent_pid: pid, agent_started: (await startTimeOf(pid)) ?? null } }
}
