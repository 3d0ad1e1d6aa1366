import {
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  isBrokenCircuitError,
  isTaskCancelledError,
  TimeoutStrategy,
  timeout,
} from 'cockatiel'
import type { Brain, Opinion } from '../domain/brain/brain.ts'
import { inBounds, notConfident } from './opinion.ts'

export interface Guard {
  /** An opinion that takes longer is none. */
  deadlineMs: number
  /** How long a brain that keeps failing is left alone before it is tried again. */
  restMs?: number
}

/** Five in a row are no hiccup any more; a single slow answer must not cost the brain its place. */
const FAILURES_IN_A_ROW = 5
const REST_MS = 60_000

/**
 * A deadline and a circuit breaker around a brain that may fail: inside it throws when its model does not answer or keeps
 * answering nonsense; outside nothing throws, and a failure is "not confident".
 *
 * Closed: every question is asked. After five failures in a row it is open: whoever asks is told "not confident" at once and
 * goes on to the next brain or to a person. After the rest the first question is a trial, alone: while it is under way the
 * others are still told at once. The trial closes the circuit or opens it for another rest. A caller who gives up is no
 * failure of the brain, but no proof of its health either: a trial that is given up opens the circuit again.
 */
export function guarded(brain: Brain, { deadlineMs, restMs = REST_MS }: Guard): Brain {
  const breaker = circuitBreaker(
    handleWhen(error => !(error instanceof CallerGone) || breaker.state === CircuitState.HalfOpen),
    { halfOpenAfter: restMs, breaker: new ConsecutiveBreaker(FAILURES_IN_A_ROW) },
  )
  const deadline = timeout(deadlineMs, TimeoutStrategy.Aggressive)

  async function ask<T>(signal: AbortSignal, form: (signal: AbortSignal) => Promise<Opinion<T>>): Promise<Opinion<T>> {
    // The breaker would make others wait for the outcome of the trial.
    if (breaker.state === CircuitState.HalfOpen) return notConfident(brain.name, `${brain.name} is being tried again`)
    if (signal.aborted) return notConfident(brain.name, 'nobody waits for the answer any more')
    try {
      return inBounds(
        await breaker.execute(async () => {
          try {
            return await deadline.execute(({ signal: until }) => form(until), signal)
          } catch (error) {
            throw signal.aborted ? new CallerGone() : error
          }
        }),
      )
    } catch (error) {
      return notConfident(brain.name, sayWhy(brain.name, error, deadlineMs))
    }
  }

  return {
    name: brain.name,
    answerQuestion: (questions, context, signal) =>
      ask(signal, until => brain.answerQuestion(questions, context, until)),
    evaluatePermission: (request, context, signal) =>
      ask(signal, until => brain.evaluatePermission(request, context, until)),
    summarize: (text, context, signal) => ask(signal, until => brain.summarize(text, context, until)),
  }
}

class CallerGone extends Error {}

function sayWhy(name: string, error: unknown, deadlineMs: number): string {
  if (error instanceof CallerGone) return 'nobody waits for the answer any more'
  if (isBrokenCircuitError(error)) return `${name} failed several times in a row and rests for a while`
  if (isTaskCancelledError(error)) return `${name} did not answer within ${deadlineMs / 1000} s`
  return `${name} failed: ${error instanceof Error ? error.message : String(error)}`
}
