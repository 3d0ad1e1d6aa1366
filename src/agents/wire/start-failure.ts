import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Failure } from '../../domain/session.ts'
import type { AgentProcess } from '../agent-process.ts'

/** Its output ends, and its last error is told, a moment before its exit is known. */
const EXIT_MS = 500

interface Around {
  process: AgentProcess
  /** What people call the agent. */
  name: string
}

interface Start extends Around {
  startMs: number
  /** It did not introduce itself in time. */
  isLate: boolean
  /** What the agent's own answer means. */
  refusal(error: unknown): Failure
}

/** Why an agent that was started could not be spoken to. */
export async function startFailure(error: unknown, start: Start): Promise<Failure> {
  const { process, name, startMs, isLate, refusal } = start
  if (isLate) return { kind: 'other', message: `${name} did not answer within ${startMs / 1000} s of its start.` }
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone || process.missing) return causeOfDeath(messageOf(error), start)
  if (error instanceof AppError && error.code === 'session_over') return { kind: 'other', message: error.message }
  return refusal(error)
}

/** Why an agent is not there any more, or never was. */
export async function causeOfDeath(problem: string, { process, name }: Around): Promise<Failure> {
  await Promise.race([process.exited(), sleep(EXIT_MS)])
  if (process.missing) return { kind: 'agent_missing', message: new AppError('agent_missing', { problem }).message }
  return { kind: 'agent_crashed', message: `${name} ended unexpectedly (${process.lastWords}).` }
}
