import { crashPoint } from '../../base/crash-point.ts'
import { unreachable } from '../../base/errors.ts'
import { redactValues } from '../../base/redact.ts'
import type { Failure, Session } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'
import { needsCompletion } from '../completion/work.ts'
import { halted, stopWhenSpentBeforeNext } from '../guards/spending.ts'
import { scopeOf } from '../runs/next-step.ts'
import { reasonForGivingUp } from './apply-sigils.ts'
import { endingBetweenTurns, waitAtGate, waitForQuota } from './between-turns.ts'
import { parkProseQuestion, replyToProse } from './brain.ts'
import { eventOf, type LiveSession, type LiveSessionEnding, refuseStale, type SessionContext } from './context.ts'
import type { Action, Analysis, LoopContext } from './decide.ts'
import { completed, escalated, failed, gaveUp, parked, paused, restarted, retried, stopped } from './endings.ts'
import { record } from './record.ts'
import { claimedFailure } from './task-tools.ts'

/** After so much work a failure is a new one: a long night may meet more of them than are tried in a row. */
const FORGIVEN_MS = 10 * 60_000

/** What is known of the session beside the event. The queue and the quota are looked at where a task ended. */
export async function readContext(analysis: Analysis, { live, deps }: SessionContext): Promise<LoopContext> {
  const { stopping, pausing, compaction, retryMs, row } = live
  const known = {
    stopping,
    pausing,
    compaction,
    retries: deps.clock.now() - live.begunAt < FORGIVEN_MS ? row.retries : 0,
    retryMs,
    reply: undefined,
    hasNext: false,
    critical: false,
  }
  if (analysis.type !== 'task_complete' || compaction === 'running') return known
  const queue = await deps.tasks.queue(live.id)
  const open = await countOthersOpen(queue, { live, deps })
  const said = reasonForGivingUp({ text: analysis.text, task: row.task_id, open, log: live.log })
  const gaveUp = said ?? (await claimedFailure({ live, deps }))
  if (gaveUp !== undefined) return { ...known, gaveUp }
  if (analysis.question) {
    const { text, suggestion } = await replyToProse(analysis.question, { live, deps })
    return { ...known, reply: text, suggestion }
  }
  // What is to land is looked at before anything else begins in the same place.
  if (needsCompletion(row)) return known
  const hasNext = queue.some(task => task.id !== row.task_id && canRun(task, row.task_id))
  if (!hasNext) return known
  const admission = await deps.accounts.admits(live)
  await stopWhenSpentBeforeNext({ live, deps })
  const { level } = await deps.accounts.level(live)
  return {
    ...known,
    hasNext,
    critical: level === 'critical',
    pausing: live.pausing ?? (admission.open ? undefined : 'gate'),
  }
}

/** Tasks that are not done beside the one at hand: of its own queue, or of all that its run works through. */
async function countOthersOpen(
  queue: readonly { id: string }[],
  { live: { row }, deps }: SessionContext,
): Promise<number> {
  const place = row.options.run
  const of = place && (await deps.store.runs.get(place.id))
  if (!of) return queue.filter(({ id }) => id !== row.task_id).length
  const { done = 0, cancelled = 0, ...open } = await deps.tasks.counts(scopeOf(of))
  return Object.values(open).reduce((sum, count) => sum + count, 0) - 1
}

/** Ready, or blocked by nothing but the task that has just been completed. */
function canRun({ state, after }: { state: string; after: string[] }, done: string | null): boolean {
  return state === 'ready' || (state === 'blocked' && done !== null && after.includes(done))
}

/** Does what was decided. An ending comes back when the session has no more use for its agent now. */
export async function execute(
  action: Action,
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  const { live, deps } = context
  switch (action.do) {
    case 'go_on':
      return undefined
    case 'open_gate':
      await deps.accounts.answered(live)
      return undefined
    case 'next_task':
      return session ? startNextTask(action.text, session, context) : completed(action.text, live)
    case 'say':
      return answerInWords(action.text, session, context)
    case 'ask_in_words':
      return parkProseQuestion(action.question, live, action.suggestion)
    case 'session_complete':
      return completed(action.text, live)
    case 'wait_for_quota':
      return waitForQuota(action.text, context)
    case 'checkpoint_and_wait':
      return waitForLimit(action, context)
    case 'wait_for_gate':
      return waitAtGate(await deps.accounts.admits(live), { ...context, text: action.text })
    case 'retry':
      return retried(action.failure, {
        at: deps.clock.now() + action.afterMs,
        attempt: action.attempt,
        of: live.retryMs.length,
      })
    case 'escalate':
      // A run tries it once more later, with a fresh session, before a person has to look (`runs/close-attempt.ts`).
      return live.row.options.run ? failed(action.failure, live) : escalated(action.failure, live)
    case 'compact':
    case 'continue':
      return shorten(action.do, session, context)
    case 'pause':
      if (action.limit) await deps.accounts.shut(live, action.limit)
      return paused(action.why, live, action)
    case 'halt':
      if (action.limit) await deps.accounts.shut(live, action.limit)
      return live.tripped ? halted(live, live.tripped, action) : paused('interrupted', live, action)
    case 'park':
      return parked(action, live)
    case 'fail':
      return isForgotten(action.failure, live)
        ? restarted(action.failure, deps.clock.now())
        : failed(action.failure, live)
    case 'give_up':
      return gaveUp(action, live)
    case 'stop':
      if (action.limit) await deps.accounts.shut(live, action.limit)
      return stopped(action.reason, action.text)
    default:
      return unreachable(action)
  }
}

/** The conversation is the session's own, and not one that a person has named. */
function isForgotten({ kind }: Failure, { row }: LiveSession): boolean {
  return kind === 'resume_unknown' && row.vendor_id !== null && row.options.resume === undefined
}

/** Answers a question with which the turn ended; the conversation goes on with it. */
async function answerInWords(
  text: string,
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  const { live, deps } = context
  live.proseAnswers += 1
  await record(live, deps, {
    events: [
      eventOf(live, 'session.noted', { text: `It asked at the end of its turn and was told: ${text}` }, 'daemon'),
    ],
    patch: { questions_auto: live.row.questions_auto + 1 },
  })
  const heldUp = endingBetweenTurns(context)
  if (heldUp) return heldUp
  await session?.prompt(text)
  return undefined
}

async function waitForLimit(
  { limit }: Extract<Action, { do: 'checkpoint_and_wait' }>,
  context: SessionContext,
): Promise<LiveSessionEnding> {
  crashPoint('limit.before-gate')
  await context.deps.accounts.shut(context.live, limit)
  crashPoint('limit.after-gate')
  return waitAtGate(await context.deps.accounts.admits(context.live), { ...context, limit })
}

/** Claude Code's own way to shorten a conversation; when it is done, the work goes on. */
async function shorten(
  what: 'compact' | 'continue',
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  const { live } = context
  const heldUp = endingBetweenTurns(context)
  if (heldUp) return heldUp
  live.compaction = what === 'compact' ? 'running' : 'done'
  live.log.info({ what }, 'the conversation is too long for the model')
  await session?.prompt(what === 'compact' ? '/compact' : 'Go on with the task where you stopped.')
  return undefined
}

/** Finishes the task at work and takes the next of the queue, in one transaction; it goes on in the same conversation. */
export async function startNextTask(
  text: string,
  session: Session,
  { live, deps }: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  const { store, tasks } = deps
  const { task, patch } = await store.transaction(async tx => {
    await refuseStale(live, tx)
    if (live.row.task_id !== null)
      await tasks.transition(
        live.row.task_id,
        { to: 'done', result: redactValues(text, live.secrets), attempt: live.attempt },
        tx,
      )
    const task = await tasks.claimNext(live.id, tx)
    const patch: Partial<SessionRow> = {
      task_id: task?.id ?? null,
      retries: 0,
      ...(task && { plan: [], activity: task.title }),
    }
    await store.sessions.update(live.id, patch, tx)
    crashPoint('next-task.before-commit')
    return { task, patch }
  })
  crashPoint('next-task.after-commit')
  live.row = { ...live.row, ...patch }
  if (!task) return completed(text, live)
  live.attempt = task.attempt
  live.compaction = undefined
  live.proseAnswers = 0
  live.log.info({ task: task.id }, 'next task')
  const heldUp = endingBetweenTurns({ live, deps })
  if (heldUp) return heldUp
  await session.prompt(task.description)
  return undefined
}
