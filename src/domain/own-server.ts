import type { AgentToolName } from './agent-tools.ts'

// Without zod, so that drawing events need not load it.

/** The name of our own server. The name alone proves nothing: the driver says whose server a call is for (`Request.own`). */
export const OWN_SERVER = 'pcc'

/** The name under which an agent calls a tool of ours. */
export function toolCallName(name: AgentToolName): string {
  return `mcp__${OWN_SERVER}__${name}`
}
