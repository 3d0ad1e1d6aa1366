import { unreachable } from '../../base/errors.ts'
import { type ProseQuestion, questionInProse } from '../../brain/rules/turn-ending.ts'
import type { Suggestion } from '../../domain/brain.ts'
import { endsWithDocument } from '../../domain/feature-phase.ts'
import type { Limit } from '../../domain/limit.ts'
import { ACCOUNT_FAULTS, type Failure, isTransient, type SessionEvent } from '../../domain/session.ts'

/** What an event of the agent means for its task. */
export type Analysis =
  /** The agent works. `answered`: the model replied, so the account is open. */
  | { type: 'progress'; answered: boolean }
  /** The agent requests a call; the driver awaits the verdict of `asks.ts`. */
  | { type: 'permission_request' }
  /** The agent asks a question; the driver awaits the answer of `asks.ts`. */
  | { type: 'question' }
  /** How full the vendor's windows are. */
  | { type: 'quota' }
  /** The vendor failed and the agent tries again by itself. */
  | { type: 'trouble' }
  /** `question`: the turn ended with a question in prose instead of with finished work. */
  | { type: 'task_complete'; text: string; question?: ProseQuestion | undefined }
  | { type: 'held_up'; by: 'paused' | 'interrupted' | 'capped' }
  /** `gone`: the call cannot be answered any more, so its answer becomes the next prompt. */
  | { type: 'parked'; callId: string | undefined; gone?: boolean | undefined }
  /** The vendor serves this account no more for now. */
  | { type: 'rate_limit'; limit: Limit; failure: Failure }
  | { type: 'error'; failure: Failure; mayPass: boolean }

/** Classifies an event. Pure. */
export function think(event: SessionEvent): Analysis {
  switch (event.kind) {
    case 'usage':
      return { type: 'progress', answered: event.outputTokens > 0 }
    // A program may write texts of its own: they do not say that the vendor has answered.
    case 'text':
    case 'thinking':
    case 'started':
    case 'tool_result':
    case 'plan':
    case 'compacting':
      return { type: 'progress', answered: false }
    case 'tool_request':
      return { type: 'permission_request' }
    case 'question':
      return { type: 'question' }
    case 'limit':
      return { type: 'quota' }
    case 'retry':
      return { type: 'trouble' }
    case 'turn_ended':
      return thinkOfEnd(event)
    case 'ended':
      return thinkOfFailure(event.failure ?? { kind: 'agent_crashed', message: CUT_SHORT })
    default:
      return unreachable(event)
  }
}

const CUT_SHORT = 'the agent ended in the middle of its turn'

function thinkOfEnd(turn: Extract<SessionEvent, { kind: 'turn_ended' }>): Analysis {
  switch (turn.outcome) {
    case 'completed':
      return { type: 'task_complete', text: turn.text, question: findQuestion(turn.text) }
    case 'paused':
    case 'interrupted':
    case 'capped':
      return { type: 'held_up', by: turn.outcome }
    case 'parked':
      return { type: 'parked', callId: turn.parked?.callId, ...(turn.parked?.gone && { gone: true }) }
    case 'failed':
      return thinkOfFailure(turn.failure ?? { kind: 'other', message: turn.text || 'the turn failed' })
    default:
      return unreachable(turn.outcome)
  }
}

/** Questions that a spec or a plan leaves open are for its reader, and are no question of this turn. */
function findQuestion(text: string): ProseQuestion | undefined {
  return endsWithDocument(text) ? undefined : questionInProse(text)
}

/** Classifies a failure, of a turn or outside of one. Pure. */
export function thinkOfFailure(failure: Failure): Analysis {
  const fault = ACCOUNT_FAULTS[failure.kind]
  if (failure.kind !== 'limit' && !fault) return { type: 'error', failure, mayPass: isTransient(failure.kind) }
  const limit = failure.limit ?? { source: 'result' as const, message: failure.message, ...(fault && { fault }) }
  return { type: 'rate_limit', limit, failure }
}

/** What a decision needs beside the event. */
export interface LoopContext {
  /** Why the session is being stopped, once somebody asked for that. */
  stopping: string | undefined
  /** Who asked the session to pause: a person, a closed account, or a guard. */
  pausing: 'person' | 'gate' | 'guard' | undefined
  /** Failures in a row that may pass by themselves. */
  retries: number
  /** How long each try waits, and thereby how many there are. */
  retryMs: readonly number[]
  /** Whether the conversation is being shortened, or was, because it had become too long for the model. */
  compaction: 'running' | 'done' | undefined
  /** The answer to a question with which the turn ended; undefined if a person has to answer. */
  reply: string | undefined
  /** A brain's opinion, for the person who is asked instead. */
  suggestion?: Suggestion | undefined
  /** The reason, where the agent says that its task failed (`apply-sigils.ts`). */
  gaveUp?: string | undefined
  /** Whether the queue holds a task that can run now. */
  hasNext: boolean
  /** Whether the account's allowance is nearly used up: the task at work may end, but no new one begins. */
  critical: boolean
}

export type Action =
  | { do: 'go_on' }
  /** The model answered, so the account is open. */
  | { do: 'open_gate' }
  | { do: 'next_task'; text: string }
  | { do: 'session_complete'; text: string }
  /** The turn ended with a question, and this is the answer. */
  | { do: 'say'; text: string }
  | { do: 'ask_in_words'; question: ProseQuestion; suggestion?: Suggestion | undefined }
  /** The task is done; the next one waits until the allowance is renewed. */
  | { do: 'wait_for_quota'; text: string }
  | { do: 'checkpoint_and_wait'; limit: Limit; failure: Failure }
  /** Another session met the limit and the account is closed. `text` where the task was just completed. */
  | { do: 'wait_for_gate'; text?: string }
  | { do: 'retry'; failure: Failure; afterMs: number; attempt: number }
  /** The retries are used up: the session waits for a person. */
  | { do: 'escalate'; failure: Failure }
  /** The conversation is too long for the model: it is shortened once. */
  | { do: 'compact' }
  /** The conversation was shortened: the work goes on. */
  | { do: 'continue' }
  /** `text` where the task was completed first; `limit` where one was met on the way to the pause. */
  | { do: 'pause'; why: 'person' | 'interrupted' | 'turns'; text?: string; limit?: Limit }
  /** A guard stops the session: a budget is spent, or the session runs away. */
  | { do: 'halt'; text?: string; limit?: Limit }
  | { do: 'park'; callId: string | undefined; gone?: boolean | undefined }
  | { do: 'fail'; failure: Failure }
  /** The agent itself says that its task failed; `text` is its report. */
  | { do: 'give_up'; reason: string; text: string }
  /** `text` where the task was completed first; `limit` where one was met on the way to the stop. */
  | { do: 'stop'; reason: string; text?: string; limit?: Limit }

/** Picks the action for what happened. Pure. */
export function decide(analysis: Analysis, context: LoopContext): Action {
  switch (analysis.type) {
    case 'progress':
      return analysis.answered ? { do: 'open_gate' } : { do: 'go_on' }
    case 'permission_request':
    case 'question':
    case 'quota':
    case 'trouble':
      return { do: 'go_on' }
    case 'task_complete':
      if (context.gaveUp !== undefined) return { do: 'give_up', reason: context.gaveUp, text: analysis.text }
      return (analysis.question && afterQuestion(analysis.question, context)) ?? afterTask(analysis.text, context)
    default:
      if (context.stopping !== undefined) return { do: 'stop', reason: context.stopping, ...limitIn(analysis) }
      return afterCutShort(analysis, context)
  }
}

/**
 * The turn ended with a question in place of the work: it is answered, or put to a person. A stop or a pause does not wait
 * for that.
 */
function afterQuestion(question: ProseQuestion, context: LoopContext): Action | undefined {
  const { stopping, pausing, compaction, reply } = context
  if (compaction === 'running') return undefined
  if (stopping !== undefined) return { do: 'stop', reason: stopping }
  if (reply === undefined) return { do: 'ask_in_words', question, suggestion: context.suggestion }
  if (pausing === 'person') return { do: 'pause', why: 'person' }
  if (pausing === 'guard') return { do: 'halt' }
  return pausing === 'gate' ? { do: 'wait_for_gate' } : { do: 'say', text: reply }
}

/** A completed task stays completed, whatever was asked for meanwhile: only the next step changes. */
function afterTask(text: string, { stopping, pausing, hasNext, critical, compaction }: LoopContext): Action {
  if (compaction === 'running') return stopping === undefined ? { do: 'continue' } : { do: 'stop', reason: stopping }
  if (!hasNext) return { do: 'session_complete', text }
  if (stopping !== undefined) return { do: 'stop', reason: stopping, text }
  if (pausing === 'person') return { do: 'pause', why: 'person', text }
  if (pausing === 'guard') return { do: 'halt', text }
  if (pausing === 'gate') return { do: 'wait_for_gate', text }
  return critical ? { do: 'wait_for_quota', text } : { do: 'next_task', text }
}

type CutShort = Extract<Analysis, { type: 'held_up' | 'parked' | 'rate_limit' | 'error' }>

/** A session that is being stopped has met the limit all the same, so the account is closed for the others. */
function limitIn(analysis: CutShort): { limit?: Limit } {
  return analysis.type === 'rate_limit' ? { limit: analysis.limit } : {}
}

function afterCutShort(analysis: CutShort, context: LoopContext): Action {
  switch (analysis.type) {
    case 'held_up':
      if (analysis.by === 'capped') return { do: 'pause', why: 'turns' }
      if (context.pausing === 'gate') return { do: 'wait_for_gate' }
      if (context.pausing === 'guard') return { do: 'halt' }
      return { do: 'pause', why: analysis.by === 'paused' ? 'person' : 'interrupted' }
    case 'parked':
      return { do: 'park', callId: analysis.callId, ...(analysis.gone && { gone: true }) }
    case 'rate_limit':
      // A person asked for the pause before the limit was met: the limit only closes the account.
      if (context.pausing === 'person') return { do: 'pause', why: 'person', limit: analysis.limit }
      if (context.pausing === 'guard') return { do: 'halt', limit: analysis.limit }
      return { do: 'checkpoint_and_wait', limit: analysis.limit, failure: analysis.failure }
    case 'error':
      return afterFailure(analysis.failure, analysis.mayPass, context)
    default:
      return unreachable(analysis)
  }
}

function afterFailure(
  failure: Failure,
  mayPass: boolean,
  { retries, retryMs, compaction, pausing }: LoopContext,
): Action {
  // The agent was interrupted because the account closed while it was retrying: the limit is the cause, not this failure.
  if (pausing === 'gate' && mayPass) return { do: 'wait_for_gate' }
  // Likewise an agent that was closed before it had begun, and one that failed on its way to the pause.
  if (pausing === 'person' && mayPass) return { do: 'pause', why: 'person' }
  if (pausing === 'guard' && mayPass) return { do: 'halt' }
  if (failure.kind === 'prompt_too_long' && compaction === undefined) return { do: 'compact' }
  if (!mayPass) return { do: 'fail', failure: compaction === 'running' ? stillTooLong(failure) : failure }
  const afterMs = retryMs[retries]
  return afterMs === undefined ? { do: 'escalate', failure } : { do: 'retry', failure, afterMs, attempt: retries + 1 }
}

/** The error of the failed shortening means little to its reader; that the conversation is too long does. */
function stillTooLong({ message }: Failure): Failure {
  const why = `The conversation is too long for the model and could not be shortened (${message}).`
  return { kind: 'prompt_too_long', message: why }
}
