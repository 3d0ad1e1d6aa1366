import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'

const State = z.object({
  sessionId: z.string(),
  status: z.string(),
  waitingFor: z.string().optional(),
  version: z.string().optional(),
  statusUpdatedAt: z.number().optional(),
})
export type AgentState = z.infer<typeof State>

/** What Claude Code itself says it does: `idle`, `busy` or `waiting`, in a file that it keeps for its process. */
export function readState(config: string, pid: number): AgentState | undefined {
  try {
    return State.safeParse(JSON.parse(readFileSync(join(config, 'sessions', `${pid}.json`), 'utf8'))).data
  } catch {
    return undefined // it has not come so far, or is just writing it
  }
}
