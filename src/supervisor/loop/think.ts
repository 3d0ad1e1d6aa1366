import { unreachable } from '../../base/errors.ts'
import { type ProseQuestion, questionInProse } from '../../brain/rules/turn-ending.ts'
import type { Limit } from '../../domain/account/limit.ts'
import { isTransient } from '../../domain/failure.ts'
import { endsWithDocument } from '../../domain/features/document.ts'
import type { Failure, SessionEvent } from '../../domain/session.ts'

/** What an event of the agent means for its task. */
export type Analysis =
  /** Work goes on. `answered`: the model spoke, so the account is open. */
  | { type: 'progress'; answered: boolean }
  /** A call wants to happen; the driver awaits the verdict of `asks.ts`. */
  | { type: 'permission_request' }
  /** The agent asks; the driver awaits the answer of `asks.ts`. */
  | { type: 'question' }
  /** How full the vendor's windows are. */
  | { type: 'quota' }
  /** The vendor failed and the agent tries again by itself. */
  | { type: 'trouble' }
  /** `question`: the turn ended with one, in words, instead of with the work done. */
  | { type: 'task_complete'; text: string; question?: ProseQuestion | undefined }
  | { type: 'held_up'; by: 'paused' | 'interrupted' | 'capped' }
  /** `gone`: what is said to the call is told as the next prompt. */
  | { type: 'parked'; callId: string | undefined; gone?: boolean | undefined }
  | { type: 'rate_limit'; limit: Limit; failure: Failure }
  | { type: 'error'; failure: Failure; mayPass: boolean }

/** Classifies an event. Pure: the same event always means the same. */
export function think(event: SessionEvent): Analysis {
  switch (event.kind) {
    case 'text':
    case 'thinking':
    case 'usage':
      return { type: 'progress', answered: true }
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
      return { type: 'task_complete', text: turn.text, question: askedIn(turn.text) }
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

/** What a spec or a plan leaves open is for whoever reads it, and no question of this turn. */
function askedIn(text: string): ProseQuestion | undefined {
  return endsWithDocument(text) ? undefined : questionInProse(text)
}

/** What a failure means, wherever it was met. */
export function thinkOfFailure(failure: Failure): Analysis {
  if (failure.kind !== 'limit') return { type: 'error', failure, mayPass: isTransient(failure.kind) }
  const limit = failure.limit ?? { source: 'result' as const, message: failure.message }
  return { type: 'rate_limit', limit, failure }
}
