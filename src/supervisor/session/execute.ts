import { crashPoint } from '../../base/crash-point.ts'
import { unreachable } from '../../base/errors.ts'
import { redactValues } from '../../base/redact.ts'
import type { Failure, Session } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'
import { needsCompletion } from '../completion/work.ts'
import { halted, stopWhenSpentBeforeNext } from '../guards/spending.ts'
import { scopeOf } from '../runs/next-step.ts'
import { findRefusals, waitsForYes } from './allow-once.ts'
import { reasonForGivingUp } from './apply-sigils.ts'
import { endingBetweenTurns, waitAtGate, waitForQuota } from './between-turns.ts'
import { parkProseQuestion, replyToProse } from './brain.ts'
import { eventOf, type LiveSession, type LiveSessionEnding, refuseStale, type SessionContext } from './context.ts'
import type { Action, Analysis, LoopContext } from './decide.ts'
import {
  completed,
  escalated,
  failed,
  gaveUp,
  parked,
  paused,
  restarted,
  retried,
  stopped,
  waitsForModel,
  waitsForProgram,
} from './endings.ts'
import { record } from './record.ts'
import { claimedFailure } from './task-tools.ts'

/**
 * After this much work the count of failures in a row starts again: a long night may see more failures than one series of
 * retries.
 */
const FORGIVEN_MS = 10 * 60_000

/** Reads what a decision needs beside the event. The queue and the quota are read only if a task ended. */
export async function readContext(analysis: Analysis, { live, deps }: SessionContext): Promise<LoopContext> {
  const {
    row,
    control: { stopping, pausing },
    agent: { compaction },
    settings: { retryMs },
  } = live
  const basics = {
    stopping,
    pausing,
    compaction,
    retries: deps.clock.now() - live.meters.startedAt < FORGIVEN_MS ? row.retries : 0,
    retryMs,
    reply: undefined,
    hasNext: false,
    critical: false,
  }
  if (analysis.type !== 'task_complete' || compaction === 'running') return basics
  const queue = await deps.tasks.queue(live.id)
  const open = await countOthersOpen(queue, { live, deps })
  const reason = reasonForGivingUp({ text: analysis.text, task: row.task_id, open, log: live.log })
  const gaveUp = reason ?? (await claimedFailure({ live, deps }))
  if (gaveUp !== undefined) return { ...basics, gaveUp }
  if (analysis.question) {
    const { text, suggestion } = await replyToProse(analysis.question, { live, deps })
    return { ...basics, reply: text, suggestion }
  }
  // Work that is to be merged is verified before another task begins in the same directory.
  if (needsCompletion(row)) return basics
  const hasNext = queue.some(task => task.id !== row.task_id && canRun(task, row.task_id))
  if (!hasNext) return basics
  const admission = await deps.accounts.admits(live)
  await stopWhenSpentBeforeNext({ live, deps })
  const { level } = await deps.accounts.level(live)
  return {
    ...basics,
    hasNext,
    critical: level === 'critical',
    pausing: live.control.pausing ?? (admission.open ? undefined : 'gate'),
  }
}

/** How many other tasks are not done: of the session's queue, or of everything its run works through. */
async function countOthersOpen(
  queue: readonly { id: string }[],
  { live: { row }, deps }: SessionContext,
): Promise<number> {
  const position = row.options.run
  const run = position && (await deps.store.runs.get(position.id))
  if (!run) return queue.filter(({ id }) => id !== row.task_id).length
  const { done = 0, cancelled = 0, ...open } = await deps.tasks.counts(scopeOf(run))
  return Object.values(open).reduce((sum, count) => sum + count, 0) - 1
}

/** Whether a task is ready, or blocked by the task that has just been completed. */
function canRun({ state, after }: { state: string; after: string[] }, done: string | null): boolean {
  return state === 'ready' || (state === 'blocked' && done !== null && after.includes(done))
}

/** Carries out an action. Returns an ending when the session needs its agent no more. */
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
        total: live.settings.retryMs.length,
      })
    case 'escalate':
      // A run retries the task later with a fresh session, before a person has to act (`runs/close-attempt.ts`).
      return live.row.options.run ? failed(action.failure, live) : escalated(action.failure, live)
    case 'compact':
    case 'continue':
      return shorten(action.do, session, context)
    case 'pause':
      if (action.limit) await deps.accounts.closeForLimit(live, action.limit)
      return paused(action.why, live, action)
    case 'halt':
      if (action.limit) await deps.accounts.closeForLimit(live, action.limit)
      return live.control.tripped ? halted(live, live.control.tripped, action) : paused('interrupted', live, action)
    case 'park':
      return parked(action, live)
    case 'fail':
      if (action.failure.kind === 'agent_missing') return waitsForProgram(action.failure, live, deps.clock.now())
      // A run begins the task again with the model that is set then.
      if (action.failure.kind === 'model_not_found' && !live.row.options.run) return waitsForModel(action.failure, live)
      return isForgotten(action.failure, live)
        ? restarted(action.failure, deps.clock.now())
        : failed(action.failure, live)
    case 'give_up': {
      const refusals = await findRefusals(live.row, deps.store)
      return refusals.length > 0 ? waitsForYes(refusals, action, live) : gaveUp(action, live)
    }
    case 'stop':
      if (action.limit) await deps.accounts.closeForLimit(live, action.limit)
      return stopped(action.reason, action.text)
    default:
      return unreachable(action)
  }
}

/** Whether the agent no longer knows the session's own conversation. One that a person named with `--resume` does not count. */
function isForgotten({ kind }: Failure, { row }: LiveSession): boolean {
  return kind === 'resume_unknown' && row.vendor_id !== null && row.options.resume === undefined
}

/** Answers a question with which the turn ended; the conversation goes on with the answer. */
async function answerInWords(
  text: string,
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  const { live, deps } = context
  live.meters.proseAnswers += 1
  await record(live, deps, {
    events: [
      eventOf(live, 'session.noted', { text: `It asked at the end of its turn and was told: ${text}` }, 'daemon'),
    ],
    patch: { questions_auto: live.row.questions_auto + 1 },
  })
  const ending = endingBetweenTurns(context)
  if (ending) return ending
  await session?.prompt(text)
  return undefined
}

async function waitForLimit(
  { limit }: Extract<Action, { do: 'checkpoint_and_wait' }>,
  context: SessionContext,
): Promise<LiveSessionEnding> {
  crashPoint('limit.before-gate')
  await context.deps.accounts.closeForLimit(context.live, limit)
  crashPoint('limit.after-gate')
  return waitAtGate(await context.deps.accounts.admits(context.live), { ...context, limit })
}

/** Shortens the conversation with Claude Code's own `/compact`, or tells the agent to go on once that is done. */
async function shorten(
  what: 'compact' | 'continue',
  session: Session | undefined,
  context: SessionContext,
): Promise<LiveSessionEnding | undefined> {
  const { live } = context
  const ending = endingBetweenTurns(context)
  if (ending) return ending
  live.agent.compaction = what === 'compact' ? 'running' : 'done'
  live.log.info({ what }, 'the conversation is too long for the model')
  await session?.prompt(what === 'compact' ? '/compact' : 'Go on with the task where you stopped.')
  return undefined
}

/** Finishes the task at work and claims the next of the queue, in one transaction; the conversation stays the same. */
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
        { to: 'done', result: redactValues(text, live.settings.secrets), attempt: live.agent.attempt },
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
  live.agent.attempt = task.attempt
  live.agent.compaction = undefined
  live.meters.proseAnswers = 0
  live.log.info({ task: task.id }, 'next task')
  const ending = endingBetweenTurns({ live, deps })
  if (ending) return ending
  await session.prompt(task.description)
  return undefined
}
