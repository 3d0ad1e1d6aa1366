import { crashPoint } from '../../base/crash-point.ts'
import { unreachable } from '../../base/errors.ts'
import type { Failure, Session } from '../../domain/session.ts'
import { parkedInWords } from '../brain/prose.ts'
import { eventOf } from '../events/agent-event.ts'
import { halted } from '../guards/halted.ts'
import { record } from '../record.ts'
import type { Desk, Ending, Run } from '../run.ts'
import { betweenTurns } from './between-turns.ts'
import type { Action } from './decide.ts'
import { begunAnew, completed, escalated, failed, gaveUp, parked, paused, retried, stopped } from './endings.ts'
import { waitAtGate, waitForQuota } from './gate-wait.ts'
import { nextTask } from './next-task.ts'

/** Does what was decided. An ending comes back when the session has no more use for its agent now. */
export async function execute(action: Action, session: Session | undefined, desk: Desk): Promise<Ending | undefined> {
  const { run, parts } = desk
  switch (action.do) {
    case 'go_on':
      return undefined
    case 'open_gate':
      await parts.accounts.answered(run)
      return undefined
    case 'next_task':
      return session ? nextTask(action.text, session, desk) : completed(action.text, run)
    case 'say':
      return say(action.text, session, desk)
    case 'ask_in_words':
      return parkedInWords(action.question, run, action.suggestion)
    case 'session_complete':
      return completed(action.text, run)
    case 'wait_for_quota':
      return waitForQuota(action.text, desk)
    case 'checkpoint_and_wait':
      return limitMet(action, desk)
    case 'wait_for_gate':
      return waitAtGate(await parts.accounts.admits(run), { ...desk, text: action.text })
    case 'retry':
      return retried(action.failure, {
        at: parts.clock.now() + action.afterMs,
        attempt: action.attempt,
        of: run.retryMs.length,
      })
    case 'escalate':
      // A run tries it once more later, with a fresh session, before a person has to look (`runs/close-attempt.ts`).
      return run.row.options.run ? failed(action.failure, run) : escalated(action.failure, run)
    case 'compact':
    case 'continue':
      return shorten(action.do, session, desk)
    case 'pause':
      if (action.limit) await parts.accounts.shut(run, action.limit)
      return paused(action.why, run, action)
    case 'halt':
      if (action.limit) await parts.accounts.shut(run, action.limit)
      return run.tripped ? halted(run, run.tripped, action) : paused('interrupted', run, action)
    case 'park':
      return parked(action, run)
    case 'fail':
      return isForgotten(action.failure, run)
        ? begunAnew(action.failure, parts.clock.now())
        : failed(action.failure, run)
    case 'give_up':
      return gaveUp(action, run)
    case 'stop':
      if (action.limit) await parts.accounts.shut(run, action.limit)
      return stopped(action.reason, action.text)
    default:
      return unreachable(action)
  }
}

/** The conversation is the session's own, and not one that a person has named. */
function isForgotten({ kind }: Failure, { row }: Run): boolean {
  return kind === 'resume_unknown' && row.vendor_id !== null && row.options.resume === undefined
}

/** Answers a question with which the turn ended; the conversation goes on with it. */
async function say(text: string, session: Session | undefined, desk: Desk): Promise<Ending | undefined> {
  const { run, parts } = desk
  run.proseAnswers += 1
  await record(run, parts, {
    events: [
      eventOf(run, 'session.noted', { text: `It asked at the end of its turn and was told: ${text}` }, 'daemon'),
    ],
    patch: { questions_auto: run.row.questions_auto + 1 },
  })
  const heldUp = betweenTurns(desk)
  if (heldUp) return heldUp
  await session?.prompt(text)
  return undefined
}

async function limitMet({ limit }: Extract<Action, { do: 'checkpoint_and_wait' }>, desk: Desk): Promise<Ending> {
  crashPoint('limit.before-gate')
  await desk.parts.accounts.shut(desk.run, limit)
  crashPoint('limit.after-gate')
  return waitAtGate(await desk.parts.accounts.admits(desk.run), { ...desk, limit })
}

/** Claude Code's own way to shorten a conversation; when it is done, the work goes on. */
async function shorten(
  what: 'compact' | 'continue',
  session: Session | undefined,
  desk: Desk,
): Promise<Ending | undefined> {
  const { run } = desk
  const heldUp = betweenTurns(desk)
  if (heldUp) return heldUp
  run.compaction = what === 'compact' ? 'running' : 'done'
  run.log.info({ what }, 'the conversation is too long for the model')
  await session?.prompt(what === 'compact' ? '/compact' : 'Go on with the task where you stopped.')
  return undefined
}
