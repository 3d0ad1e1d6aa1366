import { AppError, messageOf } from '../base/errors.ts'
import { startTimeOf } from '../base/process/start-time.ts'
import type { Failure, Session } from '../domain/session.ts'
import { asksFor } from './asks.ts'
import { endingOf, endingOfClosed, failedEnding } from './ending-of.ts'
import { stepFor } from './events/step-for.ts'
import { record } from './record.ts'
import type { Ending, Parts, Run, Step } from './run.ts'

/**
 * The loop of one session: opens the agent, stores what it does, and returns how it ended. It never throws; the agent's
 * process is gone when it returns.
 */
export async function runSession(run: Run, parts: Parts): Promise<Ending> {
  try {
    await using session = await run.driver.open({ ...run.open, asks: asksFor(run, parts) })
    run.session = session
    run.opened.resolve()
    run.log.info({ resumed: run.open.resume !== undefined }, 'agent opened')
    return await follow(session, run, parts)
  } catch (error) {
    run.log.error({ error }, 'session failed')
    return failedEnding(failureOf(error), run)
  } finally {
    run.over = true
    run.session = undefined
    run.opened.resolve()
  }
}

async function follow(session: Session, run: Run, parts: Parts): Promise<Ending> {
  // Asked to stop while the agent was still starting: there was nothing to interrupt then.
  if (run.stopping !== undefined) return { as: 'stopped', reason: run.stopping }
  for await (const event of session.events) {
    if (event.kind === 'turn_ended') run.over = true
    await record(run, parts, stepFor(event, run))
    if (event.kind === 'started') await record(run, parts, await processOf(session))
    run.log.debug({ kind: event.kind }, 'agent event')
    if (event.kind === 'turn_ended') return endingOf(event, run)
    if (event.kind === 'ended') return endingOfClosed(event, run)
  }
  return endingOfClosed({ kind: 'ended', reason: 'closed' }, run)
}

/** The agent's process, told apart from a later one of the same number by its start. */
async function processOf({ pid }: Session): Promise<Step> {
  if (pid === undefined) return { events: [], patch: {} }
  return { events: [], patch: { agent_pid: pid, agent_started: (await startTimeOf(pid)) ?? null } }
}

function failureOf(error: unknown): Failure {
  if (error instanceof AppError && error.code === 'agent_missing')
    return { kind: 'agent_missing', message: error.message }
  if (error instanceof AppError && error.code === 'agent_not_logged_in') return { kind: 'auth', message: error.message }
  return { kind: 'other', message: messageOf(error) }
}
