import * as z from 'zod'
import { AGENT_KINDS } from './manifest.ts'

/** Which agent does the work of a session. It stands in the session's row: what settings say later changes nothing for it. */
export const AgentChoice = z.strictObject({
  /** `custom`: one that no manifest describes, which speaks ACP. */
  kind: z.enum([...AGENT_KINDS, 'custom']),
  /** What people call it: its kind, or the name it has in the settings. */
  name: z.string().min(1),
  /** The program and the words behind it, where that is not the usual one. */
  command: z.array(z.string()).min(1).optional(),
})
export type AgentChoice = z.infer<typeof AgentChoice>

/** What a session gets where nobody has said anything. */
export const USUAL_AGENT: AgentChoice = { kind: 'claude', name: 'claude' }
