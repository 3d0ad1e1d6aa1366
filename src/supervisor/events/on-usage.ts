import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

/** Tokens, cost and rounds so far. The agent counts from its opening; what earlier lives of the session spent is added. */
export function onUsage(event: Extract<SessionEvent, { kind: 'usage' }>, run: Run): Step {
  const { before } = run
  const context = {
    ...(event.contextTokens === undefined ? {} : { context_tokens: event.contextTokens }),
    ...(event.contextWindow === undefined ? {} : { context_window: event.contextWindow }),
  }
  const totals = {
    input_tokens: before.input_tokens + event.inputTokens,
    output_tokens: before.output_tokens + event.outputTokens,
    cost_usd: before.cost_usd + event.costUsd,
  }
  const cache = { cache_read_tokens: event.cacheReadTokens, cache_write_tokens: event.cacheWriteTokens }
  return {
    events: [eventOf(run, 'usage.reported', { ...totals, ...cache, ...context })],
    patch: { ...totals, ...context, ...(event.turns === undefined ? {} : { turns: before.turns + event.turns }) },
  }
}
