import { crashPoint } from '../../base/crash-point.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { startTimeOf } from '../../base/process/process-table.ts'
import type { CompletionProgress } from '../../domain/evidence.ts'
import type { Failure, Session, SessionEvent } from '../../domain/session.ts'
import { halted } from '../guards/spending.ts'
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
 * The loop of a session: opens the agent and follows it through its tasks, one event after the other. What happened is
 * stored (learn), what it means is found out (think), what follows is picked (decide) and done (execute), until an action
 * is an ending. It never throws; the agent's process is gone when it returns, even where the ending was told before.
 */
export async function runTask(run: LiveSession, deps: SessionDeps): Promise<LiveSessionEnding> {
  try {
    await run.renew?.()
    const shut = await beginTask(run, deps)
    if (shut) return shut
    await deps.starts.free()
    crashPoint('open.before-agent')
    await using session = await run.driver.open({
      ...run.open,
      asks: asksFor(run, deps),
      mayBegin: () => mayBegin(run),
    })
    run.session = session
    run.opened.resolve()
    crashPoint('open.after-agent')
    run.log.info({ resumed: run.open.resume !== undefined }, 'agent opened')
    using _watched = deps.watch.watch({ run, deps })
    const ending = await followAgent(session, { run, deps })
    if (mayLeaveByItself(session, run, ending)) await settle(run, deps, ending)
    return ending
  } catch (error) {
    run.log.error({ error }, 'session failed')
    // The store could not write: that is no failure of the session, and passes.
    if (run.tripped?.guard === 'disk') return halted(run, run.tripped)
    return endingAfter(failureOf(error), { run, deps })
  } finally {
    run.over = true
    run.withstood = run.session?.withstood ?? false
    run.session = undefined
    run.opened.resolve()
  }
}

/** Nobody can interrupt an agent that is being opened, so it is asked before the agent hears its first word. */
function mayBegin({ stopping, pausing }: LiveSession): boolean {
  return stopping === undefined && pausing === undefined
}

async function followAgent(session: Session, context: SessionContext): Promise<LiveSessionEnding> {
  const { run } = context
  // Asked to stop or to wait while the agent was still starting: there was nothing to interrupt then.
  if (!mayBegin(run)) await session[Symbol.asyncDispose]()
  for await (const event of session.events) {
    run.hearing = true
    const ending = await handleEvent(event, session, context)
    run.hearing = false
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
  // From here on nothing can be added to the conversation any more.
  if (ending) context.run.over = true
  return ending
}

async function react(
  analysis: Analysis,
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  return execute(decide(analysis, await readContext(analysis, context)), session, context)
}

/** A failure outside of any turn: the agent could not be opened, or the store failed under it. */
async function endingAfter(failure: Failure, context: SessionContext): Promise<LiveSessionEnding> {
  const ending = await react(thinkOfFailure(failure), undefined, context)
  return ending ?? { as: 'error', reason: failure.message, failure: failure.kind }
}

/**
 * Whether the session may be told to be over while its agent is still leaving, which takes 40 ms: its work is complete,
 * nothing else runs, and nobody has asked for a recording, whose last line is written when the agent is gone.
 */
function mayLeaveByItself(session: Session, run: LiveSession, ending: LiveSessionEnding): boolean {
  return ending.as === 'completed' && run.open.record === undefined && session.alone === true
}

function failureOf(error: unknown): Failure {
  if (error instanceof AppError && error.code === 'agent_missing')
    return { kind: 'agent_missing', message: error.message }
  if (error instanceof AppError && error.code === 'agent_not_logged_in') return { kind: 'auth', message: error.message }
  return { kind: 'other', message: messageOf(error) }
}

/** Stores what happened, and keeps what the next decisions need to know of it. */
async function learn(event: SessionEvent, session: Session, { run, deps }: SessionContext): Promise<void> {
  run.log.debug({ kind: event.kind }, 'agent event')
  if (WENT_ON.has(event.kind)) run.taken = undefined
  if (event.kind === 'retry') run.trying = true
  else if (event.kind !== 'limit') run.trying = false
  if (event.kind === 'started') crashPoint('started.before-record')
  countUsage(event, run)
  await record(run, deps, stepForEvent(event, run))
  if (WENT_ON.has(event.kind)) await noteHeard(run, deps)
  if (event.kind === 'started') {
    await record(run, deps, await readProcess(session))
    crashPoint('started.after-record')
  }
  if (event.kind === 'limit') await deps.accounts.told(event, run)
  if (event.kind === 'turn_ended') {
    carryTurns(run)
    crashPoint('turn.before-decision')
  } else await saveCheckpointWhenDue(run, deps)
  await applyGuards(event, { run, deps })
}

/** Reading from the cache is left out, as `pcc quota` does: with every answer it is the whole conversation once more. */
function countUsage(event: SessionEvent, { meter, before }: LiveSession): void {
  if (event.kind === 'turn_ended') meter.saw({ turns: before.turns + event.turns })
  if (event.kind !== 'usage') return
  const { inputTokens, outputTokens, cacheWriteTokens, costUsd, turns } = event
  const rounds = turns === undefined ? {} : { turns: before.turns + turns }
  meter.saw({ tokens: inputTokens + outputTokens + cacheWriteTokens, cost_usd: costUsd, ...rounds })
}

/** Signs that the model has seen the answer to a parked question: from here on a failure is one of the work. */
const WENT_ON = new Set<SessionEvent['kind']>(['text', 'thinking', 'tool_request', 'plan'])

/** The model speaks: it has heard what was told to it in words, and it is not this session that ends daemons. */
async function noteHeard(run: LiveSession, deps: SessionDeps): Promise<void> {
  const { options, recoveries, parked } = run.row
  const isTold = parked?.taken && !run.answer
  const patch = {
    ...(recoveries > 0 && { recoveries: 0 }),
    ...(isTold && { parked: null }),
    ...(options.landing?.told !== undefined && { options: { ...options, landing: withoutReport(options.landing) } }),
  }
  if (Object.keys(patch).length > 0) await record(run, deps, { events: [], patch })
}

/** It has heard why its work came back. */
function withoutReport({ told: _, ...note }: CompletionProgress): CompletionProgress {
  return note
}

/** The agent counts rounds anew with every turn; tokens and cost it counts from its opening. */
function carryTurns(run: LiveSession): void {
  run.before = { ...run.before, turns: run.row.turns }
}

/** The agent's process, told apart from a later one of the same number by its start. */
async function readProcess({ pid }: Session): Promise<SessionUpdate> {
  if (pid === undefined) return { events: [], patch: {} }
  return { events: [], patch: { agent_pid: pid, agent_started: (await startTimeOf(pid)) ?? null } }
}
