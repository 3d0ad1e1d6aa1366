import { crashPoint } from '../base/crash-point.ts'
import { AppError, messageOf } from '../base/errors.ts'
import type { Failure, Session, SessionEvent } from '../domain/session.ts'
import { asksFor } from './asks.ts'
import { halted } from './guards/halted.ts'
import { contextOf } from './loop/context-of.ts'
import { decide } from './loop/decide.ts'
import { enter } from './loop/enter.ts'
import { execute } from './loop/execute.ts'
import { learn } from './loop/learn.ts'
import { type Analysis, think, thinkOfFailure } from './loop/think.ts'
import type { Desk, Ending, Parts, Run } from './run.ts'
import { settle } from './settling/settle.ts'

/**
 * The loop of a session: opens the agent and follows it through its tasks, one event after the other. What happened is
 * stored (learn), what it means is found out (think), what follows is picked (decide) and done (execute), until an action
 * is an ending. It never throws; the agent's process is gone when it returns, even where the ending was told before.
 */
export async function runTask(run: Run, parts: Parts): Promise<Ending> {
  try {
    await run.renew?.()
    const shut = await enter(run, parts)
    if (shut) return shut
    await parts.starts.free()
    crashPoint('open.before-agent')
    await using session = await run.driver.open({
      ...run.open,
      asks: asksFor(run, parts),
      mayBegin: () => mayBegin(run),
    })
    run.session = session
    run.opened.resolve()
    crashPoint('open.after-agent')
    run.log.info({ resumed: run.open.resume !== undefined }, 'agent opened')
    using _watched = parts.watch.watch({ run, parts })
    const ending = await follow(session, { run, parts })
    if (mayLeaveByItself(session, run, ending)) await settle(run, parts, ending)
    return ending
  } catch (error) {
    run.log.error({ error }, 'session failed')
    // The store could not write: that is no failure of the session, and passes.
    if (run.tripped?.guard === 'disk') return halted(run, run.tripped)
    return endingAfter(failureOf(error), { run, parts })
  } finally {
    run.over = true
    run.withstood = run.session?.withstood ?? false
    run.session = undefined
    run.opened.resolve()
  }
}

/** Nobody can interrupt an agent that is being opened, so it is asked before the agent hears its first word. */
function mayBegin({ stopping, pausing }: Run): boolean {
  return stopping === undefined && pausing === undefined
}

async function follow(session: Session, desk: Desk): Promise<Ending> {
  const { run } = desk
  // Asked to stop or to wait while the agent was still starting: there was nothing to interrupt then.
  if (!mayBegin(run)) await session[Symbol.asyncDispose]()
  for await (const event of session.events) {
    run.hearing = true
    const ending = await step(event, session, desk)
    run.hearing = false
    if (ending) return ending
  }
  return endingAfter({ kind: 'agent_crashed', message: 'the agent ended without a word' }, desk)
}

async function step(event: SessionEvent, session: Session, desk: Desk): Promise<Ending | undefined> {
  await learn(event, session, desk)
  const ending = await react(think(event), session, desk)
  // From here on nothing can be added to the conversation any more.
  if (ending) desk.run.over = true
  return ending
}

async function react(analysis: Analysis, session: Session | undefined, desk: Desk): Promise<Ending | undefined> {
  return execute(decide(analysis, await contextOf(analysis, desk)), session, desk)
}

/** A failure outside of any turn: the agent could not be opened, or the store failed under it. */
async function endingAfter(failure: Failure, desk: Desk): Promise<Ending> {
  const ending = await react(thinkOfFailure(failure), undefined, desk)
  return ending ?? { as: 'error', reason: failure.message, failure: failure.kind }
}

/**
 * Whether the session may be told to be over while its agent is still leaving, which takes 40 ms: its work is complete,
 * nothing else runs, and nobody has asked for a recording, whose last line is written when the agent is gone.
 */
function mayLeaveByItself(session: Session, run: Run, ending: Ending): boolean {
  return ending.as === 'completed' && run.open.record === undefined && session.alone === true
}

function failureOf(error: unknown): Failure {
  if (error instanceof AppError && error.code === 'agent_missing')
    return { kind: 'agent_missing', message: error.message }
  if (error instanceof AppError && error.code === 'agent_not_logged_in') return { kind: 'auth', message: error.message }
  return { kind: 'other', message: messageOf(error) }
}
