import { unreachable } from '../../base/errors.ts'
import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { onLimit } from './on-limit.ts'
import { onPlan } from './on-plan.ts'
import { onSaid, onThought } from './on-said.ts'
import { onStarted } from './on-started.ts'
import { onToolRequest, onToolResult } from './on-tool.ts'
import { onCompacting, onRetry } from './on-trouble.ts'
import { onTurnEnded } from './on-turn-ended.ts'
import { onUsage } from './on-usage.ts'

/** Nothing to store. */
const NO_STEP: Step = { events: [], patch: {} }

/** What an agent's event comes to. A handler looks at the event and the run, and writes nothing: `record` does. */
export function stepFor(event: SessionEvent, run: Run): Step {
  switch (event.kind) {
    case 'started':
      return onStarted(event, run)
    case 'text':
      return onSaid(event, run)
    case 'thinking':
      return onThought(event, run)
    case 'tool_request':
      return onToolRequest(event, run)
    case 'tool_result':
      return onToolResult(event, run)
    case 'question':
      return NO_STEP // the driver asks it through `Asks`, which stores it
    case 'plan':
      return onPlan(event, run)
    case 'usage':
      return onUsage(event, run)
    case 'limit':
      return onLimit(event, run)
    case 'retry':
      return onRetry(event, run)
    case 'compacting':
      return onCompacting(event, run)
    case 'turn_ended':
      return onTurnEnded(event, run)
    case 'ended':
      return NO_STEP // `endingOfClosed` says what it means
    default:
      return unreachable(event)
  }
}
