import type { SessionEvent } from '../../domain/session.ts'
import type { Run, Step } from '../run.ts'
import { eventOf } from './agent-event.ts'

/** Tokens and cost so far. They are cumulative: the latest report replaces the one before. */
export function onUsage(event: Extract<SessionEvent, { kind: 'usage' }>, run: Run): Step {
  const context = {
    ...(event.contextTokens === undefined ? {} : { context_tokens: event.contextTokens }),
    ...(event.contextWindow === undefined ? {} : { context_window: event.contextWindow }),
  }
  const totals = { input_tokens: event.inputTokens, output_tokens: event.outputTokens, cost_usd: event.costUsd }
  const cache = { cache_read_tokens: event.cacheReadTokens, cache_write_tokens: event.cacheWriteTokens }
  return {
    events: [eventOf(run, 'usage.reported', { ...totals, ...cache, ...context })],
    patch: { ...totals, ...context },
  }
}
