import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, messageOf } from '../../base/errors.ts'
import type { Failure } from '../../domain/session.ts'
import { agentMissing } from '../manifests/agent-missing.ts'
import type { Seat } from './seat.ts'

/** Its output ends, and its last error is told, a moment before its exit is known. */
const EXIT_MS = 500
/** Its last words are read some time after its exit on a busy machine; a child of it may hold them open for ever. */
const LAST_WORDS_MS = 2000

type Around = Pick<Seat, 'process' | 'manifest'>

interface Start extends Around, Pick<Seat, 'startMs'> {
  /** It did not introduce itself in time. */
  isLate: boolean
  /** What the agent's own answer means. */
  refusal(error: unknown): Failure
}

/** Why an agent that was started could not be spoken to. */
export async function startFailure(error: unknown, start: Start): Promise<Failure> {
  const { process, manifest, startMs, isLate, refusal } = start
  if (isLate)
    return { kind: 'other', message: `${manifest.name} did not answer within ${startMs / 1000} s of its start.` }
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone || process.missing) return causeOfDeath(messageOf(error), start)
  if (error instanceof AppError && error.code === 'session_over') return { kind: 'other', message: error.message }
  return refusal(error)
}

/** Why an agent is not there any more, or never was. */
export async function causeOfDeath(problem: string, { process, manifest }: Around): Promise<Failure> {
  const isGone = await Promise.race([process.exited().then(() => true), sleep(EXIT_MS, false)])
  if (isGone) await Promise.race([process.silent(), sleep(LAST_WORDS_MS)])
  if (process.missing) return { kind: 'agent_missing', message: agentMissing(manifest, problem).message }
  return { kind: 'agent_crashed', message: `${manifest.name} ended unexpectedly (${process.lastWords}).` }
}
