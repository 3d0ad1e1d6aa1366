import * as z from 'zod'
import { msOf } from '../../claude/messages/wire.ts'

const Window = z.object({ used_percentage: z.number(), resets_at: z.number().optional() })

/** What Claude Code gives to the command of its status line, as much of it as counts. */
const StatusLine = z.object({
  cost: z.object({ total_cost_usd: z.number() }).optional().catch(undefined),
  context_window: z.object({ context_window_size: z.number() }).optional().catch(undefined),
  rate_limits: z.record(z.string(), Window.nullable()).nullish().catch(undefined),
})

export interface Status {
  /** Of the whole conversation, what came before this process included. */
  costUsd: number | undefined
  /** How much the model can take. */
  contextWindow: number | undefined
  /** How full the account's windows are. */
  windows: Record<string, { utilization: number; resetsAt?: number }> | undefined
}

/** Reads it; what is not understood is not there. */
export function readStatus(given: unknown): Status {
  const { cost, context_window, rate_limits } = StatusLine.safeParse(given).data ?? {}
  const windows = Object.entries(rate_limits ?? {}).flatMap(([name, window]) => (window ? [[name, told(window)]] : []))
  return {
    costUsd: cost?.total_cost_usd,
    contextWindow: context_window?.context_window_size,
    windows: windows.length === 0 ? undefined : Object.fromEntries(windows),
  }
}

function told({ used_percentage, resets_at }: z.infer<typeof Window>) {
  return { utilization: used_percentage / 100, ...(resets_at !== undefined && { resetsAt: msOf(resets_at) }) }
}
